// The open tunnels of the sites of one snapshot. A site that stays hands its own on, as long as it demands the same of clients; those of
// a site that is gone are given a while, then ended. Used by the snapshot and by the server.
import type { VhostConfig } from '../config/config.js'
import { OpenTunnels } from '../http/open-tunnels.js'

/** Tunnels by the key of their site. */
export type SiteTunnels = ReadonlyMap<string, OpenTunnels>

/** What makes a site the same for its tunnels: its name, and what a client had to prove to open one. */
export function tunnelKey({ id, clientCertificate }: VhostConfig): string {
  if (clientCertificate?.mode !== 'require') return id
  return `${id} ${clientCertificate.ca.hash} ${JSON.stringify(clientCertificate.allow)}`
}

/** The tunnels of these sites, taken over from `previous` where it has them. */
export function siteTunnels(vhosts: Iterable<VhostConfig>, previous: SiteTunnels | undefined): SiteTunnels {
  const tunnels = new Map<string, OpenTunnels>()
  for (const key of [...vhosts].map(tunnelKey)) tunnels.set(key, previous?.get(key) ?? new OpenTunnels())
  return tunnels
}

/** `current` serves in the place of `previous`: the tunnels of sites that are gone end within so many milliseconds. */
export function endRemovedTunnels(current: SiteTunnels, previous: SiteTunnels | undefined, withinMs: number): void {
  for (const [key, open] of previous ?? []) {
    if (!current.has(key)) setTimeout(() => open.close(), withinMs).unref()
  }
}
