// Passes one exchange on to an endpoint and its answer back. Used by the handler; the bodies flow between the two codecs
// without passing here.
import { Failure } from '../wire/failure.js'
import { bodyTooLarge } from './bounded-body.js'
import type { Exchange } from './exchange.js'
import { Forwarding } from './forwarding.js'
import { HeldBody } from './held-body.js'
import type { RequestedHost } from './host.js'
import { outgoingRequest } from './outgoing-request.js'
import type { ForwardAction } from './routing.js'

const noTunnel = new Failure('not_implemented', 'an extended CONNECT')
const doubleSlash = new Failure('ambiguous_path', 'the path behind the route begins with two slashes')

/** Starts forwarding; everything lent in the request is copied before this returns. */
export function forward(exchange: Exchange, action: ForwardAction, host: RequestedHost): void {
  if (exchange.downstream.request.method === 'CONNECT') return exchange.fail(noTunnel)
  const objection = objectionTo(exchange, action)
  if (objection !== undefined) return exchange.fail(objection)
  const request = outgoingRequest(exchange, action, host)
  const forwarding = new Forwarding(exchange, request)
  if (request.body instanceof HeldBody) request.body.hold(forwarding)
  else forwarding.start()
}

function objectionTo({ site, downstream }: Exchange, { strippedBytes }: ForwardAction): Failure | undefined {
  const { body, target } = downstream.request
  const bytesMax = site?.requestBodyBytesMax
  if (body !== undefined && bytesMax !== undefined && body.lengthBytes > bytesMax) return bodyTooLarge
  // To many parsers such a target names another host.
  return strippedBytes > 0 && target.startsWith('//', strippedBytes) ? doubleSlash : undefined
}
