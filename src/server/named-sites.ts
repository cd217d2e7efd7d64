// Sites in a line of the log: the first of them by name, and how many there are. Ten thousand may stand under one authority.
// Used by everything that tells of what sites have in common.

/** So many are named. */
const namesMax = 20

/** The sites as fields of a line. */
export interface NamedSites {
  readonly vhosts: readonly string[]
  readonly sitesTotal: number
}

/** Those that are named. */
export function firstOf(vhosts: readonly string[]): readonly string[] {
  return vhosts.slice(0, namesMax)
}

/** The fields of a line that is about these sites. */
export function namedSites(vhosts: readonly string[]): NamedSites {
  return { vhosts: firstOf(vhosts), sitesTotal: vhosts.length }
}
