// Which version of which site serves: the configured one where it is sound, the last good one where it is not, none at
// a cold start. One broken site never touches its neighbours. Used by the reload.
import type { Config, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import type { LoadedConfig } from '../config/load.js'
import type { BrokenSite } from '../config/site.js'
import { differenceOf } from '../files/difference.js'
import type { Certificate } from '../tls/certificate.js'
import { type CertificateShelf, isOverdue, type ShelvedPair } from './certificate-shelf.js'
import { grouped } from './grouped.js'
import type { Stock } from './stock.js'

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

/** Decides for each site of a loaded configuration, in steps; what serves as before is the same object as in `previous`. */
export function* resolveSites(
  loaded: LoadedConfig & { readonly config: Config },
  stock: Shelves,
  previous: readonly ServingSite[],
): Generator<void, ResolvedSites> {
  const { vhosts, reload } = loaded.config
  const before = new EarlierSites(previous, vhosts)
  const by = { ...stock, renewalGraceMs: reload.renewalGraceMs }
  const { sound, degraded, closed } = yield* judgeAll(vhosts, before, by)
  const unservable = [...closed.map(brokenByFile), ...brokenByMistakes(loaded)]
  const kept: ServingSite[] = []
  const orphans = new Orphans(unservable.length === 0 ? [] : orphansOf(previous, sound))
  for (const { name, errors, earlierIn } of unservable) {
    const earlier = earlierIn(orphans)
    for (const site of earlier) {
      orphans.adopt(site)
      kept.push(renewed(site, stock.certificates))
      degraded.push({ vhost: site.vhost.id, errors, serves: 'last_good' })
    }
    if (earlier.length === 0) degraded.push({ vhost: name, errors, serves: 'closed' })
  }
  return { serving: [...sound, ...kept.map((site) => before.shared(site))], degraded }
}

const sitesAStep = 200

interface JudgedSites {
  readonly sound: readonly ServingSite[]
  readonly degraded: DegradedSite[]
  readonly closed: readonly JudgedSite[]
}

/** All sites that can be read, those that nothing has happened to at next to no cost. */
function* judgeAll(vhosts: readonly VhostConfig[], before: EarlierSites, by: Judging): Generator<void, JudgedSites> {
  const sound: ServingSite[] = []
  const degraded: DegradedSite[] = []
  const closed: JudgedSite[] = []
  for (const [index, vhost] of vhosts.entries()) {
    if (index % sitesAStep === 0) yield
    const earlier = before.siteOf(vhost, index)
    if (earlier !== undefined && isAsBefore(earlier, by)) {
      sound.push(earlier)
      continue
    }
    const judged = judge(vhost, by)
    const { site, errors, serves } = judged
    if (serves === 'closed') closed.push(judged)
    else sound.push(before.shared(site))
    if (serves === 'partly' || serves === 'last_good') degraded.push({ vhost: vhost.id, errors, serves })
  }
  return { sound, degraded, closed }
}

/** What served before, by what it was configured as. Most sites stand where they stood. */
class EarlierSites {
  readonly #sites: readonly ServingSite[]
  readonly #come: ReadonlySet<VhostConfig>
  #byVhost: ReadonlyMap<VhostConfig, ServingSite> | undefined

  constructor(sites: readonly ServingSite[], vhosts: readonly VhostConfig[]) {
    this.#sites = sites
    const before = sites.map(({ vhost }) => vhost)
    this.#come = new Set(differenceOf(before, vhosts).come)
  }

  siteOf(vhost: VhostConfig, index?: number): ServingSite | undefined {
    const there = index === undefined ? undefined : this.#sites[index]
    if (there?.vhost === vhost) return there
    if (this.#come.has(vhost)) return undefined
    this.#byVhost ??= new Map(this.#sites.map((site) => [site.vhost, site]))
    return this.#byVhost.get(vhost)
  }

  /** What serves as before is the same object as before. */
  shared(site: ServingSite): ServingSite {
    const before = this.siteOf(site.vhost)
    return before !== undefined && isSameList(before.certificates, site.certificates) ? before : site
  }
}

/** Earlier sites with a name that no sound site has taken; the others are nobody's any more. */
function orphansOf(previous: readonly ServingSite[], sound: readonly ServingSite[]): readonly ServingSite[] {
  const vhosts = new Set(sound.map(({ vhost }) => vhost))
  const gone = previous.filter(({ vhost }) => !vhosts.has(vhost))
  if (gone.length === 0) return gone
  const taken = new Set(sound.flatMap(({ vhost }) => claimsOf(vhost)))
  return gone.filter(({ vhost }) => claimsOf(vhost).some((claim) => !taken.has(claim)))
}

/** Earlier sites that go on serving if somebody's mistake is why they are not there. */
class Orphans {
  readonly #adopted = new Set<ServingSite>()
  readonly #byFile: ReadonlyMap<string, readonly ServingSite[]>
  readonly #byClaim: ReadonlyMap<string, readonly ServingSite[]>

  constructor(sites: readonly ServingSite[]) {
    this.#byFile = grouped(sites, ({ vhost }) => [vhost.place.file])
    this.#byClaim = grouped(sites, ({ vhost }) => claimsOf(vhost))
  }

  ofFile(file: string): readonly ServingSite[] {
    return this.#left(this.#byFile.get(file) ?? [])
  }

  withClaims(claims: readonly string[]): readonly ServingSite[] {
    return this.#left(claims.flatMap((claim) => this.#byClaim.get(claim) ?? []))
  }

  adopt(site: ServingSite): void {
    this.#adopted.add(site)
  }

  #left(sites: readonly ServingSite[]): readonly ServingSite[] {
    return [...new Set(sites)].filter((site) => !this.#adopted.has(site))
  }
}

function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index])
}

/** A site that can be read, with what its certificates are good for. */
interface JudgedSite {
  readonly site: ServingSite
  readonly errors: readonly ConfigError[]
  readonly serves: DegradedSite['serves'] | 'configured'
}

/** What sites are judged by. */
type Judging = Shelves & { readonly renewalGraceMs: number }

/** Of a site that is configured as it serves: whether its files still hold what it shows. */
function isAsBefore({ vhost, certificates }: ServingSite, { certificates: shelf, renewalGraceMs }: Judging): boolean {
  if (vhost.certificates.length !== certificates.length) return false
  return vhost.certificates.every((files, index) => {
    const pair = shelf.get(files)
    return pair !== undefined && !isUnusable(pair, renewalGraceMs) && pair.certificate === certificates[index]
  })
}

/** What is wrong with the files that say whom a site trusts: its upstreams, its clients. */
export function trustErrorsOf(vhost: VhostConfig, shelves: Omit<Shelves, 'certificates'>): readonly ConfigError[] {
  return [...shelves.upstreamTls.errorsOf(vhost), ...shelves.clientTrusts.errorsOf(vhost)]
}

function judge(vhost: VhostConfig, by: Judging): JudgedSite {
  const { certificates: shelf, renewalGraceMs } = by
  const trustErrors = trustErrorsOf(vhost, by)
  if (trustErrors.length > 0) return { site: { vhost, certificates: [] }, errors: trustErrors, serves: 'closed' }
  const pairs = vhost.certificates.map((files) => shelf.get(files)).filter((pair) => pair !== undefined)
  const certificates = pairs.map(({ certificate }) => certificate).filter((each) => each !== undefined)
  const errors = pairs.filter((pair) => isUnusable(pair, renewalGraceMs)).flatMap(pairErrors)
  const site = { vhost, certificates }
  if (errors.length === 0) return { site, errors, serves: 'configured' }
  if (certificates.length === 0) return { site, errors, serves: 'closed' }
  return { site, errors, serves: certificates.length < pairs.length ? 'partly' : 'last_good' }
}

/** A site that cannot serve as it is written, and how to know its earlier versions. */
interface UnservableSite {
  readonly name: string
  readonly errors: readonly ConfigError[]
  readonly earlierIn: (orphans: Orphans) => readonly ServingSite[]
}

function brokenByFile({ site: { vhost }, errors }: JudgedSite): UnservableSite {
  return { name: vhost.id, errors, earlierIn: (orphans) => orphans.withClaims(claimsOf(vhost)) }
}

function brokenByMistakes({ config, brokenSites }: LoadedConfig & { config: Config }): UnservableSite[] {
  const named = new Set<string>()
  const isHostless = brokenSites.some(({ hosts }) => hosts.length === 0)
  // A site whose hosts cannot be read either is the one of its file that nobody names any more.
  if (isHostless) for (const { hosts } of [...config.vhosts, ...brokenSites]) for (const host of hosts) named.add(host)
  return brokenSites.map((broken) => {
    const { file, index, hosts, errors } = broken
    const isEarlier = ({ vhost }: ServingSite): boolean => {
      if (index === undefined || vhost.hosts.some((host) => hosts.includes(host))) return true
      return hosts.length === 0 && !vhost.hosts.some((host) => named.has(host))
    }
    return { name: nameOf(broken), errors, earlierIn: (orphans) => orphans.ofFile(file).filter(isEarlier) }
  })
}

/** The names of a site on each of its listeners. */
export function claimsOf({ hosts, listeners }: VhostConfig): string[] {
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
