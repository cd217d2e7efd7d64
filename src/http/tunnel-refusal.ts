// Whether a tunnel may stay open: by the rules that a request for it would be asked now. Used by the handler; what it was opened
// with (the claims of its headers, what its handshake proved) stays as it was.
import { Failure } from '../wire/failure.js'
import { admit } from './admit.js'
import type { Exchange } from './exchange.js'
import type { ListenerView } from './routing.js'

const siteRemoved = new Failure('site_removed', 'the site is configured no more')
const notAllowed = new Failure('peer_not_allowed', 'the address is no longer among those that are served')

/** Why `view` would not let a tunnel be opened; undefined where it would. */
export function tunnelRefusal(tunnel: Exchange, view: ListenerView): Failure | undefined {
  const site = tunnel.host === null ? undefined : view.sites.get(tunnel.host)
  if (site === undefined) return siteRemoved
  if (view.allow?.admits(tunnel) === false || site.allow?.admits(tunnel) === false) return notAllowed
  return admit(tunnel, site)
}
