// Passes one exchange on to an endpoint and its answer back; tries again where that cannot execute a request twice.
// Used by the handler; the bodies flow between the two codecs without passing here.

import type { ConnectionChoice, Endpoint } from '../upstream/endpoint.js'
import type { AttemptObserver, OutgoingRequest, Tunnel } from '../wire/attempt.js'
import { type BodySource, unknownLength } from '../wire/body.js'
import { ByteWriter } from '../wire/byte-writer.js'
import { nowMs } from '../wire/deadlines.js'
import type { Request, ResponseHead } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import { Field } from '../wire/field-names.js'
import type { Exchange } from './exchange.js'
import { prepareRequest, prepareResponse } from './headers.js'
import type { RequestedHost } from './host.js'
import type { ForwardAction } from './routing.js'

/** Attempts at one request, the first included. */
const attemptsMax = 2

/** RFC 9110 §9.2.2: executing them twice is executing them once. */
const idempotentMethods = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])

const out = new ByteWriter()

const noEndpoint = new Failure('no_endpoint', 'no endpoint of the upstream is available')
const noTunnel = new Failure('not_implemented', 'an extended CONNECT')
const notAsked = new Failure('upstream_protocol', 'an upgrade that nobody asked for')

/** Starts forwarding; everything lent in the request is copied before this returns. */
export function forward(exchange: Exchange, action: ForwardAction, host: RequestedHost): void {
  if (exchange.downstream.request.method === 'CONNECT') return exchange.fail(noTunnel)
  const endpoint = action.upstream.choose(0, [])
  if (endpoint === undefined) return exchange.fail(noEndpoint)
  const forwarding = new Forwarding(exchange, endpoint, outgoingRequest(exchange, action, host))
  forwarding.start('pooled')
}

function outgoingRequest(exchange: Exchange, action: ForwardAction, host: RequestedHost): OutgoingRequest {
  const { request, connection } = exchange.downstream
  prepareRequest(request.headers, {
    clientAddress: connection.peerAddress,
    scheme: exchange.view.isSecure ? 'https' : 'http',
    host: host.written,
    requestId: exchange.requestId,
    via: action.via ? viaValue(request) : undefined,
  })
  return {
    method: request.method,
    head: headBytes(request, host),
    fields: undefined,
    body: request.body,
    upgrade: undefined,
  }
}

function viaValue(request: Request): string {
  if (request.protocol === 'h2') return '2 hostward'
  return request.protocol === 'http/1.0' ? '1.0 hostward' : '1.1 hostward'
}

function headBytes(request: Request, host: RequestedHost): Buffer {
  const { headers, body, target, method } = request
  if (request.authority !== undefined) headers.dropAll(Field.host)
  if (!request.expectsContinue) headers.dropAll(Field.expect)
  if (body?.lengthBytes !== unknownLength) headers.dropAll(Field.trailer)
  out.reserve(headers.writtenBytesMax + method.length + target.length + host.written.length + 128)
  out.text(method)
  out.byte(0x20)
  out.text(target)
  out.text(' HTTP/1.1\r\n')
  if (request.authority !== undefined) out.line('host', host.written)
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

/** The attempts of one exchange. */
class Forwarding implements AttemptObserver {
  readonly #exchange: Exchange
  readonly #endpoint: Endpoint
  readonly #request: OutgoingRequest
  readonly #startedMs = nowMs()
  #attempts = 0

  constructor(exchange: Exchange, endpoint: Endpoint, request: OutgoingRequest) {
    this.#exchange = exchange
    this.#endpoint = endpoint
    this.#request = request
    exchange.upstream = endpoint.label
  }

  start(choice: ConnectionChoice): void {
    this.#attempts++
    this.#exchange.attempt = this.#endpoint.send(this.#request, this, choice)
  }

  onInformational(head: ResponseHead): void {
    prepareResponse(head.headers)
    this.#exchange.downstream.inform(head)
  }

  onResponse(head: ResponseHead, body: BodySource | undefined): void {
    const exchange = this.#exchange
    exchange.upstreamMs = nowMs() - this.#startedMs
    exchange.upstreamStatus = head.status
    exchange.status = head.status
    prepareResponse(head.headers)
    if (body?.lengthBytes !== unknownLength) head.headers.dropAll(Field.trailer)
    exchange.downstream.respond(head, body)
  }

  onUpgrade(_head: ResponseHead, tunnel: Tunnel): void {
    tunnel.source.abort(notAsked)
    this.#exchange.fail(notAsked)
  }

  onFailure(failure: Failure): void {
    if (this.#mayRetry(failure)) this.start('fresh')
    else this.#exchange.fail(failure)
  }

  // A body may have been consumed, and other methods may have been executed, before the connection died.
  #mayRetry(failure: Failure): boolean {
    if (failure.retry !== 'if_idempotent' || this.#attempts >= attemptsMax) return false
    return this.#request.body === undefined && idempotentMethods.has(this.#request.method)
  }
}
