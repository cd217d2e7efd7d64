// Passes one exchange on to an endpoint and its answer back. Used by the handler; the bodies flow between the two codecs
// without passing here.
import { Failure } from '../wire/failure.js'
import type { Exchange } from './exchange.js'
import { Forwarding } from './forwarding.js'
import type { RequestedHost } from './host.js'
import { outgoingRequest } from './outgoing-request.js'
import type { ForwardAction } from './routing.js'

const noTunnel = new Failure('not_implemented', 'an extended CONNECT')

/** Starts forwarding; everything lent in the request is copied before this returns. */
export function forward(exchange: Exchange, action: ForwardAction, host: RequestedHost): void {
  if (exchange.downstream.request.method === 'CONNECT') return exchange.fail(noTunnel)
  new Forwarding(exchange, outgoingRequest(exchange, action, host)).start()
}
