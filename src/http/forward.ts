// Passes one exchange on to an endpoint and its answer back. Used by the handler; the bodies flow between the two codecs
// without passing here.
import type { Exchange } from './exchange.js'
import { Forwarding } from './forwarding.js'
import { HeldBody } from './held-body.js'
import type { RequestedHost } from './host.js'
import { outgoingRequest } from './outgoing-request.js'
import type { ForwardAction } from './routing.js'

/** Starts forwarding; everything lent in the request is copied before this returns. */
export function forward(exchange: Exchange, action: ForwardAction, host: RequestedHost): void {
  const request = outgoingRequest(exchange, action, host)
  const forwarding = new Forwarding(exchange, request)
  if (request.body instanceof HeldBody) request.body.hold(forwarding)
  else forwarding.start()
}
