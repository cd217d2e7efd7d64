// Many sites, each with a certificate and an upstream of its own: the neighbourhood that the story of the misdelivery needs.
import { NamedUpstream } from '../support/named-upstream.js'
import { filesOf, type PairOnDisk, type Workspace } from '../support/workspace.js'

/** One site. */
export interface NeighbourSite {
  readonly pattern: string
  /** A name that only this site claims. */
  readonly host: string
  /** Spellings of the name that mean the same. */
  readonly spellings: readonly string[]
  readonly upstream: NamedUpstream
  readonly pair: PairOnDisk
  /** The site as the configuration has it. */
  readonly vhost: object
}

const exactCount = 26
const wildcardCount = 6

/** Makes the sites. The exact ones lie below the wildcards too, where those must not win. */
export async function makeSites(workspace: Workspace): Promise<readonly NeighbourSite[]> {
  const exact = Array.from({ length: exactCount }, (_, index) => `site-${index}.wild-${index % wildcardCount}.example`)
  const wildcards = Array.from({ length: wildcardCount }, (_, index) => `*.wild-${index}.example`)
  return await Promise.all([...exact, ...wildcards].map((pattern) => makeSite(pattern, workspace)))
}

/** Makes one site, without writing it into a configuration. */
export async function makeSite(pattern: string, workspace: Workspace): Promise<NeighbourSite> {
  const host = pattern.replace('*', 'any')
  const upstream = await NamedUpstream.open(pattern)
  const pair = await workspace.pair(`certs/${host}`, { names: [pattern] })
  return {
    pattern,
    host,
    spellings: [host, host.toUpperCase(), `${host}.`, `${host}:443`],
    upstream,
    pair,
    vhost: { hosts: [pattern], certificate: filesOf(pair), upstream: upstream.url },
  }
}
