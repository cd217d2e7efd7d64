// Which site of a listener a name belongs to, and by which of its hosts. The listener's own map decides; this file only
// finds out how it came to its decision. Used by why.
import type { Place } from '../config/config-error.js'
import { createHostMap } from '../net/host-map.js'
import type { ServingSite } from '../server/sites.js'
import type { ListenerPlan, Snapshot } from '../server/snapshot.js'

/** A site and the host of its that matched. */
export interface SiteMatch {
  readonly site: ServingSite
  readonly pattern: string
  readonly kind: 'exact' | 'wildcard'
}

/** A match as `why --json` prints it. */
export interface ExplainedSite extends Place {
  readonly vhost: string
  readonly pattern: string
  readonly match: SiteMatch['kind']
}

/** The site that `name` belongs to on the listener of `plan`. */
export function matchSite(name: string, plan: ListenerPlan, { sites }: Snapshot): SiteMatch | undefined {
  const found = plan.view.sites.get(name)
  if (found === undefined) return undefined
  const { listener } = plan.view
  for (const site of sites) {
    if (site.vhost.id !== found.id || !site.vhost.listeners.includes(listener)) continue
    const pattern = matchingPattern(name, site.vhost.hosts)
    if (pattern !== undefined) return { site, pattern, kind: pattern === name ? 'exact' : 'wildcard' }
  }
  return undefined
}

/** The one of `patterns` that counts for `name`. */
export function matchingPattern(name: string, patterns: readonly string[]): string | undefined {
  return createHostMap(patterns.map((pattern) => [pattern, pattern])).get(name)
}

/** The match without the objects behind it. */
export function explainSite({ site: { vhost }, pattern, kind }: SiteMatch): ExplainedSite {
  return { vhost: vhost.id, pattern, match: kind, ...vhost.place }
}
