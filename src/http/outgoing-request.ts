// The head of a request as an endpoint gets it: the client's lines without those of the connection and its claims, ours
// behind them, and the framing of the body. Used by forwarding while the client's lines are still lent.
import type { OutgoingRequest } from '../wire/attempt.js'
import { type BodySource, unknownLength } from '../wire/body.js'
import { ByteWriter } from '../wire/byte-writer.js'
import type { Request } from '../wire/downstream.js'
import { Field } from '../wire/field-names.js'
import { BoundedBody } from './bounded-body.js'
import type { Exchange } from './exchange.js'
import { applyPolicy } from './header-policy.js'
import { prepareRequest } from './headers.js'
import type { HeldBody } from './held-body.js'
import type { RequestedHost } from './host.js'
import { type PassingBody, requestBody } from './request-body.js'
import { targetBehind } from './routes.js'
import type { ForwardAction } from './routing.js'

const out = new ByteWriter()

/** A request with all that its attempts need. */
export interface ForwardedRequest extends OutgoingRequest {
  readonly action: ForwardAction
  /** What `Upstream.choose` is asked with. */
  readonly hash: number
  readonly body: HeldBody | PassingBody | undefined
}

/** What an endpoint is sent. */
export function outgoingRequest(exchange: Exchange, action: ForwardAction, host: RequestedHost): ForwardedRequest {
  const { site, downstream } = exchange
  const { request, connection } = downstream
  prepareRequest(request.headers, {
    clientAddress: connection.claimedAddress ?? connection.peerAddress,
    scheme: exchange.view.isSecure ? 'https' : 'http',
    host: host.written,
    requestId: exchange.requestId,
    via: action.via ? viaValue(request) : undefined,
  })
  // An absolute-form or :authority stands for the Host line (RFC 9112 §3.2.2), and so does a name that the site sets.
  const hostLine = site?.upstreamHost ?? (request.authority === undefined ? undefined : host.written)
  if (site?.requestHeaders !== undefined) applyPolicy(request.headers, site.requestHeaders)
  return {
    method: request.method,
    head: headBytes(request, { target: targetBehind(request.target, action.strippedBytes), hostLine }),
    fields: undefined,
    body: bodyOf(exchange),
    upgrade: undefined,
    action,
    hash: 0,
  }
}

function bodyOf({ site, view, downstream }: Exchange): HeldBody | PassingBody | undefined {
  const { request } = downstream
  const { body } = request
  if (body === undefined) return undefined
  const isBounded = site?.requestBodyBytesMax !== undefined && body.lengthBytes === unknownLength
  const source = isBounded ? new BoundedBody(body, site.requestBodyBytesMax) : body
  return requestBody(request, source, view.heldBodies)
}

function viaValue(request: Request): string {
  if (request.protocol === 'h2') return '2 hostward'
  return request.protocol === 'http/1.0' ? '1.0 hostward' : '1.1 hostward'
}

function headBytes(
  { headers, body, method, expectsContinue }: Request,
  { target, hostLine }: { target: string; hostLine: string | undefined },
): Buffer {
  if (hostLine !== undefined) headers.dropAll(Field.host)
  if (!expectsContinue) headers.dropAll(Field.expect)
  if (body?.lengthBytes !== unknownLength) headers.dropAll(Field.trailer)
  out.reserve(headers.writtenBytesMax + method.length + target.length + (hostLine?.length ?? 0) + 128)
  out.text(method)
  out.byte(0x20)
  out.text(target)
  out.text(' HTTP/1.1\r\n')
  if (hostLine !== undefined) out.line('host', hostLine)
  headers.writeLines(out)
  if (body !== undefined) writeFraming(body, headers.find(Field.contentLength) !== -1)
  out.crlf()
  return out.take()
}

// A body is what came on the wire, not what the method suggests: any method's body is framed, or it would be read as a request.
function writeFraming(body: BodySource, hasLength: boolean): void {
  if (body.lengthBytes === unknownLength) out.line('transfer-encoding', 'chunked')
  else if (!hasLength) out.line('content-length', String(body.lengthBytes))
}
