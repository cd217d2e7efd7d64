// The head of a request as an endpoint gets it: the client's lines without those of the connection and its claims, ours
// behind them, and the framing of the body. Used by forwarding while the client's lines are still lent.
import type { OutgoingRequest } from '../wire/attempt.js'
import { type BodySource, unknownLength } from '../wire/body.js'
import { ByteWriter } from '../wire/byte-writer.js'
import type { Request } from '../wire/downstream.js'
import { Field } from '../wire/field-names.js'
import type { Exchange } from './exchange.js'
import { prepareRequest } from './headers.js'
import type { RequestedHost } from './host.js'
import { PassingBody, type RequestBody } from './request-body.js'
import type { ForwardAction } from './routing.js'

const out = new ByteWriter()

/** A request with all that its attempts need. */
export interface ForwardedRequest extends OutgoingRequest {
  readonly action: ForwardAction
  /** What `Upstream.choose` is asked with. */
  readonly hash: number
  readonly body: RequestBody | undefined
}

/** What an endpoint is sent. */
export function outgoingRequest(exchange: Exchange, action: ForwardAction, host: RequestedHost): ForwardedRequest {
  const { request, connection } = exchange.downstream
  prepareRequest(request.headers, {
    clientAddress: connection.claimedAddress ?? connection.peerAddress,
    scheme: exchange.view.isSecure ? 'https' : 'http',
    host: host.written,
    requestId: exchange.requestId,
    via: action.via ? viaValue(request) : undefined,
  })
  return {
    method: request.method,
    head: headBytes(request, host),
    fields: undefined,
    body: request.body === undefined ? undefined : new PassingBody(request.body),
    upgrade: undefined,
    action,
    hash: 0,
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
