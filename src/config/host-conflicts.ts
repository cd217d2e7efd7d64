// One name, one site, on every listener. Used by load.ts once all files are read, because the rule spans them all.

import type { ConfigError, Place } from './config-error.js'
import { shown } from './printable.js'

/** A name that a site wants on its listeners. */
export interface HostClaim {
  readonly host: string
  readonly place: Place
}

/** A site as far as it claims names. */
export interface Claimant {
  readonly claims: readonly HostClaim[]
  readonly listeners: readonly string[]
}

/**
 * The claims of each site that an earlier site has made already on one of the same listeners. A broken site keeps its
 * names: its last good version may still serve them.
 */
export function hostConflicts(sites: readonly Claimant[]): readonly (readonly ConfigError[])[] {
  const owners = new Map<string, { readonly place: Place; readonly site: Claimant }>()
  return sites.map((site) => {
    const conflicts = new Map<HostClaim, ConfigError>()
    for (const claim of site.claims) {
      for (const listener of site.listeners) {
        const owner = owners.get(`${listener} ${claim.host}`)
        if (owner === undefined) owners.set(`${listener} ${claim.host}`, { place: claim.place, site })
        else if (owner.site !== site && !conflicts.has(claim)) {
          conflicts.set(claim, conflict(claim, listener, owner.place))
        }
      }
    }
    return [...conflicts.values()]
  })
}

function conflict({ host, place }: HostClaim, listener: string, taken: Place): ConfigError {
  const owner = `${taken.file}:${taken.line}:${taken.column}`
  const message = `host "${host}" is taken on listener ${shown(listener)} by ${owner}`
  return { ...place, message, hint: 'remove one of the two, or serve them on different listeners' }
}
