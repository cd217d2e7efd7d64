// The open tunnels of the sites of one snapshot. A site that stays hands its own on, whatever else changes of it; those of
// a site that is gone are given a while, then ended. Used by the snapshot and by the server.
import { OpenTunnels } from '../http/open-tunnels.js'

/** Tunnels by site. */
export type SiteTunnels = ReadonlyMap<string, OpenTunnels>

/** The tunnels of these sites, taken over from `previous` where it has them. */
export function siteTunnels(vhosts: Iterable<string>, previous: SiteTunnels | undefined): SiteTunnels {
  const tunnels = new Map<string, OpenTunnels>()
  for (const vhost of vhosts) tunnels.set(vhost, previous?.get(vhost) ?? new OpenTunnels())
  return tunnels
}

/** `current` serves in the place of `previous`: the tunnels of sites that are gone end within so many milliseconds. */
export function endRemovedTunnels(current: SiteTunnels, previous: SiteTunnels | undefined, withinMs: number): void {
  for (const [vhost, open] of previous ?? []) {
    if (!current.has(vhost)) setTimeout(() => open.close(), withinMs).unref()
  }
}
