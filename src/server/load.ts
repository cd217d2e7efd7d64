// From the main file to a snapshot that could serve: read, parse, prove certificates, compile. Changes nothing that runs.
// Used by the reload, and by the commands that look without serving.

import type { CertificateFiles, Config, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import { type LoadedConfig, loadConfig } from '../config/load.js'
import { type Parse, parseYaml } from '../config/parse.js'
import type { UpstreamTlsConfig } from '../config/upstream-config.js'
import type { FileVersion } from '../files/file-content.js'
import type { EndpointObserver } from '../upstream/endpoint-options.js'
import type { CertificateShelf, RefreshOutcome } from './certificate-shelf.js'
import type { ClientTrustShelf } from './client-trusts.js'
import { Disk } from './disk.js'
import { pairErrors, resolveSites } from './sites.js'
import { compile, type Snapshot, sitesUnder } from './snapshot.js'
import { answersOf, type UpstreamTlsShelf } from './upstream-tls.js'

/** A configuration without mistakes outside its sites. */
export type UsableConfig = LoadedConfig & { readonly config: Config }

/** What came of a load. */
export interface LoadOutcome {
  /** Undefined where mistakes outside the sites make the whole unusable. */
  readonly snapshot: Snapshot | undefined
  /** The files and all their mistakes, those of sites included. */
  readonly loaded: LoadedConfig
  /** What the snapshot was made of. */
  readonly usable: UsableConfig | undefined
  /** Mistakes outside the sites. */
  readonly errors: readonly ConfigError[]
  /** What was read, in the versions that were read, for the watch. */
  readonly versions: ReadonlyMap<string, FileVersion>
  readonly certificates: RefreshOutcome
}

/** What loads keep from one to the next, and what they give to what they make. */
export interface Stock {
  readonly certificates: CertificateShelf
  readonly upstreamTls: UpstreamTlsShelf
  readonly clientTrusts: ClientTrustShelf
  /** Hears of the health of endpoints once they serve. */
  readonly endpointObserver: EndpointObserver
}

/** Where a load starts from. */
export interface LoadRequest {
  readonly mainFile: string
  readonly stock: Stock
  /** What serves now; undefined at a cold start. */
  readonly previous: Snapshot | undefined
  /** Parses what has changed and remembers the rest; left out, everything is parsed. */
  readonly parse?: Parse
  /** Files that are known to have changed. */
  readonly changed: ReadonlySet<string> | 'all'
}

/** Loads everything that the main file names. */
export async function load(request: LoadRequest): Promise<LoadOutcome> {
  const disk = new Disk()
  const { stock, previous, changed } = request
  const shelf = stock.certificates
  const loaded = loadConfig(request.mainFile, disk, request.parse ?? parseYaml)
  const configured = loaded.config === undefined ? [] : pairsOf(loaded.config)
  // What serves stays on the shelf: a site that is broken now goes on with it, and is renewed too.
  const certificates = await shelf.refresh([...pairsInService(previous), ...configured], changed)
  const usable = loaded.config === undefined ? undefined : { ...loaded, config: loaded.config }
  const errors = usable === undefined ? loaded.errors : fallbackErrors(usable.config, shelf)
  const snapshot = usable === undefined || errors.length > 0 ? undefined : snapshotOf(usable, stock, previous)
  shelf.retain([...pairsInService(snapshot ?? previous), ...configured])
  const inUse = [...(loaded.config?.vhosts ?? []), ...vhostsOf(snapshot ?? previous)]
  stock.upstreamTls.retain(upstreamTlsOf(inUse))
  stock.clientTrusts.retain(inUse)
  const versions = new Map([...shelf.versions(), ...disk.versions])
  const pending = certificates.pending.filter(({ files }) => shelf.get(files) !== undefined)
  return { loaded, snapshot, usable, errors, versions, certificates: { ...certificates, pending } }
}

/** What `usable` means with the certificates that are on the shelf now. */
export function snapshotOf(usable: UsableConfig, stock: Stock, previous: Snapshot | undefined): Snapshot {
  const { config } = usable
  const sites = resolveSites(usable, stock, previous === undefined ? [] : sitesUnder(config, previous))
  const fallback =
    config.fallbackCertificate === undefined ? undefined : stock.certificates.get(config.fallbackCertificate)
  return compile({ config, sites, fallback: fallback?.certificate, stock }, previous)
}

function pairsOf({ fallbackCertificate, vhosts }: Pick<Config, 'fallbackCertificate' | 'vhosts'>): CertificateFiles[] {
  const fallback = fallbackCertificate === undefined ? [] : [fallbackCertificate]
  return [...fallback, ...vhosts.flatMap(({ certificates }) => certificates)]
}

/** Those of the sites that serve, which are not all as configured. */
function pairsInService(snapshot: Snapshot | undefined): CertificateFiles[] {
  if (snapshot === undefined) return []
  return pairsOf({ fallbackCertificate: snapshot.config.fallbackCertificate, vhosts: vhostsOf(snapshot) })
}

function vhostsOf(snapshot: Snapshot | undefined): readonly VhostConfig[] {
  return snapshot === undefined ? [] : snapshot.sites.map(({ vhost }) => vhost)
}

function upstreamTlsOf(vhosts: readonly VhostConfig[]): readonly UpstreamTlsConfig[] {
  const answers = vhosts.flatMap(answersOf)
  return answers.flatMap((answer) => (answer.kind === 'upstream' && answer.upstream.tls ? [answer.upstream.tls] : []))
}

function fallbackErrors({ fallbackCertificate }: Config, shelf: CertificateShelf): readonly ConfigError[] {
  const pair = fallbackCertificate === undefined ? undefined : shelf.get(fallbackCertificate)
  return pair === undefined || pair.certificate !== undefined ? [] : pairErrors(pair)
}
