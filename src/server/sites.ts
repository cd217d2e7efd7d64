// Which version of which site serves: the configured one where it is sound, the last good one where it is not, none at
// a cold start. One broken site never touches its neighbours. Used by the reload.
import type { Config, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import type { LoadedConfig } from '../config/load.js'
import type { BrokenSite } from '../config/site.js'
import type { Certificate } from '../tls/certificate.js'
import type { CertificateShelf, ShelvedPair } from './certificate-shelf.js'

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

/** Decides for each site of a loaded configuration; `previous` is what serves now. */
export function resolveSites(
  loaded: LoadedConfig & { readonly config: Config },
  shelf: CertificateShelf,
  previous: readonly ServingSite[],
): ResolvedSites {
  const sound: ServingSite[] = []
  const kept: ServingSite[] = []
  const degraded: DegradedSite[] = []
  const keep = (name: string, errors: readonly ConfigError[], earlier: readonly ServingSite[]): void => {
    kept.push(...earlier.map((site) => renewed(site, shelf)))
    const names = earlier.length > 0 ? earlier.map(({ vhost }) => vhost.id) : [name]
    for (const vhost of names) degraded.push({ vhost, errors, serves: earlier.length > 0 ? 'last_good' : 'closed' })
  }
  for (const vhost of loaded.config.vhosts) {
    const pairs = vhost.certificates.map((files) => shelf.get(files)).filter((pair) => pair !== undefined)
    const certificates = pairs.map(({ certificate }) => certificate).filter((each) => each !== undefined)
    const errors = pairs.filter(({ certificate }) => certificate === undefined).flatMap(pairErrors)
    if (certificates.length > 0 || errors.length === 0) {
      sound.push({ vhost, certificates })
      if (errors.length > 0) degraded.push({ vhost: vhost.id, errors, serves: 'partly' })
    } else {
      keep(
        vhost.id,
        errors,
        previous.filter((site) => sharesHost(site.vhost.hosts, vhost.hosts)),
      )
    }
  }
  const claimed = new Set([
    ...sound.flatMap(({ vhost }) => vhost.hosts),
    ...loaded.brokenSites.flatMap(({ hosts }) => hosts),
  ])
  for (const broken of loaded.brokenSites) {
    const earlier = previous.filter((site) => isEarlierVersion(site.vhost, broken, claimed))
    keep(
      nameOf(broken),
      broken.errors,
      earlier.filter(({ vhost }) => !kept.some((site) => site.vhost === vhost)),
    )
  }
  return { serving: [...sound, ...kept], degraded }
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

function isEarlierVersion(vhost: VhostConfig, broken: BrokenSite, claimed: ReadonlySet<string>): boolean {
  if (vhost.place.file !== broken.file) return false
  if (broken.index === undefined || sharesHost(vhost.hosts, broken.hosts)) return true
  // Its hosts cannot be read either: then it is the one of its file that nobody names any more.
  return broken.hosts.length === 0 && !vhost.hosts.some((host) => claimed.has(host))
}

function sharesHost(left: readonly string[], right: readonly string[]): boolean {
  return left.some((host) => right.includes(host))
}

function nameOf(broken: BrokenSite): string {
  return broken.hosts[0] ?? (broken.index === undefined ? broken.file : `${broken.file}[${broken.index}]`)
}
