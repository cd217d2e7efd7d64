// Where a listener binds, as the configuration writes it. Pure.
import { type BindAddress, formatAddress } from '../net/address.js'

/** `host:port`, `[v6]:port`, or `:port` for every address. */
export function formatBind({ host, port }: BindAddress): string {
  return host === undefined ? `:${port}` : formatAddress(host, port)
}
