// Which version of which site serves: the configured one where it is sound, the last good one where it is not, none at
// a cold start. One broken site never touches its neighbours. Used by the reload.
import type { Config, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import type { LoadedConfig } from '../config/load.js'
import type { BrokenSite } from '../config/site.js'
import type { Certificate } from '../tls/certificate.js'
import { type CertificateShelf, isOverdue, type ShelvedPair } from './certificate-shelf.js'
import type { Stock } from './load.js'

/** A site that serves. */
export interface ServingSite {
  readonly vhost: VhostConfig
  readonly certificates: readonly Certificate[]
}

/** A site that does not serve as configured. */
export interface DegradedSite {
  readonly vhost: string
  readonly errors: readonly ConfigError[]
  /** `last_good`: an earlier version serves; `partly`: some of its certificates do; `closed`: nothing does. */
  readonly serves: 'last_good' | 'partly' | 'closed'
}

/** All sites of a configuration. */
export interface ResolvedSites {
  /** Sound sites first: a name that both claim is theirs. */
  readonly serving: readonly ServingSite[]
  readonly degraded: readonly DegradedSite[]
}

/** What files of sites are read into. */
type Shelves = Pick<Stock, 'certificates' | 'upstreamTls' | 'clientTrusts'>

/** Decides for each site of a loaded configuration; `previous` is what serves now. */
export function resolveSites(
  loaded: LoadedConfig & { readonly config: Config },
  stock: Shelves,
  previous: readonly ServingSite[],
): ResolvedSites {
  const { renewalGraceMs } = loaded.config.reload
  const judged = loaded.config.vhosts.map((vhost) => judge(vhost, { ...stock, renewalGraceMs }))
  const sound = judged.filter((site) => site.serves !== 'closed')
  const broken = [
    ...judged.filter((site) => site.serves === 'closed').map(brokenByFile),
    ...loaded.brokenSites.map((site) => brokenByMistake(site, loaded)),
  ]
  // Where sound sites have taken all its names, an earlier version is nobody's any more.
  const taken = new Set(sound.flatMap(({ vhost }) => claimsOf(vhost)))
  const orphans = new Set(previous.filter(({ vhost }) => claimsOf(vhost).some((claim) => !taken.has(claim))))
  const kept: ServingSite[] = []
  const degraded = sound.flatMap(({ vhost, errors, serves }): DegradedSite[] => {
    return serves === 'configured' ? [] : [{ vhost: vhost.id, errors, serves }]
  })
  for (const { name, errors, isEarlier } of broken) {
    const earlier = [...orphans].filter(({ vhost }) => isEarlier(vhost))
    for (const site of earlier) {
      orphans.delete(site)
      kept.push(renewed(site, stock.certificates))
      degraded.push({ vhost: site.vhost.id, errors, serves: 'last_good' })
    }
    if (earlier.length === 0) degraded.push({ vhost: name, errors, serves: 'closed' })
  }
  return { serving: [...sound, ...kept].map(({ vhost, certificates }) => ({ vhost, certificates })), degraded }
}

/** A site that can be read, with what its certificates are good for. */
interface JudgedSite extends ServingSite {
  readonly errors: readonly ConfigError[]
  readonly serves: DegradedSite['serves'] | 'configured'
}

/** What is wrong with the files that say whom a site trusts: its upstreams, its clients. */
export function trustErrorsOf(vhost: VhostConfig, shelves: Omit<Shelves, 'certificates'>): readonly ConfigError[] {
  return [...shelves.upstreamTls.errorsOf(vhost), ...shelves.clientTrusts.errorsOf(vhost)]
}

function judge(vhost: VhostConfig, by: Shelves & { readonly renewalGraceMs: number }): JudgedSite {
  const { certificates: shelf, renewalGraceMs } = by
  const trustErrors = trustErrorsOf(vhost, by)
  if (trustErrors.length > 0) return { vhost, certificates: [], errors: trustErrors, serves: 'closed' }
  const pairs = vhost.certificates.map((files) => shelf.get(files)).filter((pair) => pair !== undefined)
  const certificates = pairs.map(({ certificate }) => certificate).filter((each) => each !== undefined)
  const errors = pairs.filter((pair) => isUnusable(pair, renewalGraceMs)).flatMap(pairErrors)
  if (errors.length === 0) return { vhost, certificates, errors, serves: 'configured' }
  if (certificates.length === 0) return { vhost, certificates, errors, serves: 'closed' }
  return { vhost, certificates, errors, serves: certificates.length < pairs.length ? 'partly' : 'last_good' }
}

/** A site that cannot serve as it is written, and how to know its earlier version. */
interface UnservableSite {
  readonly name: string
  readonly errors: readonly ConfigError[]
  readonly isEarlier: (vhost: VhostConfig) => boolean
}

function brokenByFile({ vhost, errors }: JudgedSite): UnservableSite {
  const claims = new Set(claimsOf(vhost))
  return { name: vhost.id, errors, isEarlier: (earlier) => claimsOf(earlier).some((claim) => claims.has(claim)) }
}

function brokenByMistake(
  broken: BrokenSite,
  { config, brokenSites }: LoadedConfig & { config: Config },
): UnservableSite {
  const named = new Set([...config.vhosts, ...brokenSites].flatMap(({ hosts }) => hosts))
  const isEarlier = (vhost: VhostConfig): boolean => {
    if (vhost.place.file !== broken.file) return false
    if (broken.index === undefined || vhost.hosts.some((host) => broken.hosts.includes(host))) return true
    // Its hosts cannot be read either: then it is the one of its file that nobody names any more.
    return broken.hosts.length === 0 && !vhost.hosts.some((host) => named.has(host))
  }
  return { name: nameOf(broken), errors: broken.errors, isEarlier }
}

function claimsOf({ hosts, listeners }: VhostConfig): string[] {
  return listeners.flatMap((listener) => hosts.map((host) => `${listener} ${host}`))
}

/** An earlier version of a site with the certificates that its files hold now. */
function renewed({ vhost, certificates }: ServingSite, shelf: CertificateShelf): ServingSite {
  const current = vhost.certificates.map((files) => shelf.get(files)?.certificate).filter((each) => each !== undefined)
  return { vhost, certificates: current.length > 0 ? current : certificates }
}

/** What is wrong with a pair, at the place that names it. */
export function pairErrors({ files, pending }: ShelvedPair): readonly ConfigError[] {
  return (pending?.defects ?? []).map(({ message, hint }) => ({ ...files.place, message, hint }))
}

/** Nothing of the pair serves, or an older one does because the files have been useless for too long. */
function isUnusable({ certificate, pending }: ShelvedPair, renewalGraceMs: number): boolean {
  return certificate === undefined || isOverdue(pending, renewalGraceMs)
}

function nameOf(broken: BrokenSite): string {
  return broken.hosts[0] ?? (broken.index === undefined ? broken.file : `${broken.file}[${broken.index}]`)
}
