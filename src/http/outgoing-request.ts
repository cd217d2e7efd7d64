// The head of a request as an endpoint gets it: the client's lines without those of the connection and its claims, ours
// behind them, and the framing of the body. Used by forwarding while the client's lines are still lent.
import type { ProxiedAddresses } from '../net/proxy-protocol-v2.js'
import type { OutgoingFields, OutgoingRequest } from '../wire/attempt.js'
import { type BodySource, unknownLength } from '../wire/body.js'
import { ByteWriter } from '../wire/byte-writer.js'
import type { Request } from '../wire/downstream.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { BoundedBody } from './bounded-body.js'
import { chosenBody } from './chosen-body.js'
import { writeClientCertificate } from './client-cert-header.js'
import type { Exchange } from './exchange.js'
import { applyPolicy } from './header-policy.js'
import { prepareRequest } from './headers.js'
import type { RequestedHost } from './host.js'
import { proxiedClient } from './proxied-client.js'
import type { RequestBody } from './request-body.js'
import { factsOf } from './request-facts.js'
import { targetBehind } from './routes.js'
import type { ForwardAction } from './routing.js'
import { guardTrailers } from './trailer-guard.js'
import { WebSocketBridge } from './websocket-bridge.js'

const out = new ByteWriter()

/** A request with all that its attempts need. */
export interface ForwardedRequest extends OutgoingRequest {
  readonly action: ForwardAction
  /** What `Upstream.choose` is asked with. */
  readonly hash: number
  readonly body: RequestBody | undefined
  /** Where the request asks for WebSocket. */
  readonly webSocket: WebSocketBridge | undefined
  /** Whom the connection to the endpoint is for, where it wants to know. */
  readonly client: ProxiedAddresses | undefined
}

/** What an endpoint is sent. */
export function outgoingRequest(exchange: Exchange, action: ForwardAction, host: RequestedHost): ForwardedRequest {
  const { site, downstream } = exchange
  const { request } = downstream
  const { headers, upgrade } = request
  const hash = action.upstream.hashOf(factsOf(exchange))
  const takesTrailers = action.http2Scheme !== undefined && saysTrailers(headers)
  prepareLines(exchange, action, host)
  const webSocket = upgrade === 'websocket' ? new WebSocketBridge(headers, wireOf(request)) : undefined
  // An absolute-form or :authority stands for the Host line (RFC 9112 §3.2.2), and so does a name that the site sets.
  const hostLine = site?.upstreamHost ?? (request.authority === undefined ? undefined : host.written)
  const target = targetBehind(request.target, action.strippedBytes)
  const fields =
    action.http2Scheme === undefined
      ? undefined
      : http2Fields(headers, { scheme: action.http2Scheme, authority: hostLine ?? host.written, path: target })
  if (takesTrailers) fields?.headers.add('te', 'trailers')
  if (fields !== undefined) webSocket?.prepareHttp2(fields.headers)
  webSocket?.prepareHttp1(headers)
  const head = headBytes(request, target, hostLine)
  const client = action.tellsClient ? proxiedClient(exchange) : undefined
  return { method: methodOf(request), head, fields, body: bodyOf(exchange), upgrade, action, hash, webSocket, client }
}

/** Hop-by-hop lines and claims go first, ours come, and what the site wants is last. */
function prepareLines(exchange: Exchange, action: ForwardAction, host: RequestedHost): void {
  const { site, clientAddress, scheme, requestId } = exchange
  const { request } = exchange.downstream
  const { headers } = request
  prepareRequest(headers, {
    clientAddress,
    scheme,
    host: host.written,
    requestId,
    via: action.via ? viaValue(request) : undefined,
  })
  if (!request.expectsContinue) headers.dropAll(Field.expect)
  if (request.body?.lengthBytes !== unknownLength) headers.dropAll(Field.trailer)
  const forwarded = site?.clientCertificate?.forward
  if (forwarded !== undefined) writeClientCertificate(headers, forwarded, exchange.client)
  if (site?.requestHeaders !== undefined) applyPolicy(headers, site.requestHeaders)
}

/** Whether the client takes trailers, which no upstream but one of HTTP/2 is told (gRPC insists on it). */
function saysTrailers(headers: HeaderBlock): boolean {
  const index = headers.find(Field.te)
  return index !== -1 && /(?:^|,)[ \t]*trailers[ \t]*(?:$|[,;])/i.test(headers.valueOf(index))
}

/** The head in the parts of HTTP/2, from lines that are still those of the codec. */
function http2Fields(headers: HeaderBlock, target: Omit<OutgoingFields, 'headers'>): OutgoingFields {
  const copy = headers.clone()
  copy.dropAll(Field.host)
  copy.dropAll(Field.contentLength)
  return { ...target, headers: copy }
}

function bodyOf({ site, view, downstream }: Exchange): RequestBody | undefined {
  const { request } = downstream
  const { body } = request
  if (body === undefined) return undefined
  const isBounded = site?.requestBodyBytesMax !== undefined && body.lengthBytes === unknownLength
  const bounded = isBounded ? new BoundedBody(body, site.requestBodyBytesMax) : body
  const source = guardTrailers(guardTrailers(bounded, view.claims?.trailers), site?.requestTrailers)
  return chosenBody(request, source, view.heldBodies)
}

function viaValue(request: Request): string {
  if (request.protocol === 'h2') return '2 hostward'
  return request.protocol === 'http/1.0' ? '1.0 hostward' : '1.1 hostward'
}

function wireOf({ protocol }: Request): 'http/1' | 'h2' {
  return protocol === 'h2' ? 'h2' : 'http/1'
}

/** RFC 8441 §5: what is an extended CONNECT on HTTP/2 is a GET with an Upgrade line on HTTP/1. */
function methodOf({ method }: Request): string {
  return method === 'CONNECT' ? 'GET' : method
}

function headBytes(request: Request, target: string, hostLine: string | undefined): Buffer {
  const { headers, body, upgrade } = request
  const method = methodOf(request)
  if (hostLine !== undefined) headers.dropAll(Field.host)
  const ownBytes = (hostLine?.length ?? 0) + (upgrade?.length ?? 0) + 128
  out.reserve(headers.writtenBytesMax + method.length + target.length + ownBytes)
  out.text(method)
  out.byte(0x20)
  out.text(target)
  out.text(' HTTP/1.1\r\n')
  if (hostLine !== undefined) out.line('host', hostLine)
  headers.writeLines(out)
  if (upgrade !== undefined) {
    out.line('connection', 'upgrade')
    out.line('upgrade', upgrade)
  }
  if (body !== undefined) writeFraming(body, headers.find(Field.contentLength) !== -1)
  out.crlf()
  return out.take()
}

// A body is what came on the wire, not what the method suggests: any method's body is framed, or it would be read as a request.
function writeFraming(body: BodySource, hasLength: boolean): void {
  if (body.lengthBytes === unknownLength) out.line('transfer-encoding', 'chunked')
  else if (!hasLength) out.line('content-length', String(body.lengthBytes))
}
