// Whom a connection to an endpoint is for, as PROXY headers say it: the client as it is claimed, else as it was measured, and where
// its connection came in. Used by forwarding, for upstreams that ask for it alone.
import { splitAddress } from '../net/address.js'
import type { ProxiedAddresses } from '../net/proxy-protocol-v2.js'
import type { Exchange } from './exchange.js'

/** The two ends of the client's connection. */
export function proxiedClient({ claimed, peer, downstream }: Exchange): ProxiedAddresses {
  return { source: splitAddress(claimed ?? peer), destination: splitAddress(downstream.connection.local) }
}
