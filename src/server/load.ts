// From the main file to a snapshot that could serve: read, parse, prove certificates, compile. Changes nothing that runs.
// Used by the reload, and by the commands that look without serving.

import type { CertificateFiles, Config, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import type { HostHolder, HostHolders } from '../config/host-conflicts.js'
import { type LoadedConfig, loadSteps } from '../config/load.js'
import type { UpstreamTlsConfig } from '../config/upstream-config.js'
import { differenceOf } from '../files/difference.js'
import { Slices } from '../files/slices.js'
import type { CertificateShelf, RefreshOutcome } from './certificate-shelf.js'
import { claimsOf, pairErrors, resolveSites, type ServingSite } from './sites.js'
import { compile, type Snapshot, sitesUnder } from './snapshot.js'
import type { Stock } from './stock.js'
import { answersOf } from './upstream-tls.js'

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
  readonly certificates: RefreshOutcome
}

/** Where a load starts from. */
export interface LoadRequest {
  readonly mainFile: string
  readonly stock: Stock
  /** What serves now; undefined at a cold start. */
  readonly previous: Snapshot | undefined
  /** Files that are known to have changed; `all`: nothing is known. */
  readonly changed: ReadonlySet<string> | 'all'
  /** What the work is cut into. */
  readonly slices?: Slices
}

/** Loads everything that the main file names. */
export async function load(request: LoadRequest): Promise<LoadOutcome> {
  const { stock, previous, changed, slices = new Slices() } = request
  const shelf = stock.certificates
  const loaded = await readFiles(request, slices)
  const configured = loaded.config === undefined ? [] : pairsOf(loaded.config)
  await slices.pause()
  // What serves stays on the shelf: a site that is broken now goes on with it, and is renewed too.
  const wanted = [...configured, ...differenceOf(configured, pairsInService(previous)).come]
  const certificates = await shelf.refresh(wanted, { changed, slices })
  const usable = loaded.config === undefined ? undefined : { ...loaded, config: loaded.config }
  const errors = usable === undefined ? loaded.errors : fallbackErrors(usable.config, shelf)
  const snapshot = usable === undefined || errors.length > 0 ? undefined : await snapshotOf(usable, request, slices)
  await slices.pause()
  const inService = snapshot ?? previous
  shelf.retain([...configured, ...differenceOf(configured, pairsInService(inService)).come])
  await slices.pause()
  stock.upstreamTls.retain(upstreamTlsOf(vhostsInUse(loaded, inService)))
  stock.clientTrusts.retain(vhostsInUse(loaded, inService))
  if (loaded.config !== undefined) stock.disk.retain([...loaded.files, ...loaded.directories])
  const pending = certificates.pending.filter(({ files }) => shelf.get(files) !== undefined)
  return { loaded, snapshot, usable, errors, certificates: { ...certificates, pending } }
}

async function readFiles({ mainFile, stock, previous, changed }: LoadRequest, slices: Slices): Promise<LoadedConfig> {
  const { disk, memory, certificates } = stock
  disk.startLoad(changed)
  // Thousands of pairs are proved in other threads while this one still parses.
  const onPair = (pair: CertificateFiles): void => certificates.foresee(pair)
  return await slices.run(loadSteps({ mainFile, files: disk, memory, holders: holdersIn(previous), onPair }))
}

/** Whose names are whose in what serves; conflicts are rare, so the first one builds the index. */
function holdersIn(snapshot: Snapshot | undefined): HostHolders | undefined {
  if (snapshot === undefined) return undefined
  let index: ReadonlyMap<string, HostHolder> | undefined
  return (listener, host) => {
    index ??= new Map(snapshot.sites.flatMap(holdingsOf))
    return index.get(`${listener} ${host}`)
  }
}

function holdingsOf({ vhost }: ServingSite): [string, HostHolder][] {
  const holder = { file: vhost.place.file, id: vhost.id }
  return claimsOf(vhost).map((claim) => [claim, holder])
}

/** What `usable` means with the certificates that are on the shelf now. */
export async function snapshotOf(
  usable: UsableConfig,
  { stock, previous }: Pick<LoadRequest, 'stock' | 'previous'>,
  slices: Slices,
): Promise<Snapshot> {
  const { config } = usable
  await slices.pause()
  const earlier = previous === undefined ? [] : sitesUnder(config, previous)
  const sites = await slices.run(resolveSites(usable, stock, earlier))
  const fallback =
    config.fallbackCertificate === undefined ? undefined : stock.certificates.get(config.fallbackCertificate)
  await slices.pause()
  return await slices.run(compile({ config, sites, fallback: fallback?.certificate, stock }, previous))
}

function pairsOf({ fallbackCertificate, vhosts }: Pick<Config, 'fallbackCertificate' | 'vhosts'>): CertificateFiles[] {
  const pairs = fallbackCertificate === undefined ? [] : [fallbackCertificate]
  for (const { certificates } of vhosts) for (const files of certificates) pairs.push(files)
  return pairs
}

/** Those of the sites that serve, which are not all as configured. */
function pairsInService(snapshot: Snapshot | undefined): CertificateFiles[] {
  if (snapshot === undefined) return []
  const vhosts = snapshot.sites.map(({ vhost }) => vhost)
  return pairsOf({ fallbackCertificate: snapshot.config.fallbackCertificate, vhosts })
}

/** Those that are configured and those that serve, some of them twice. */
function* vhostsInUse({ config }: LoadedConfig, inService: Snapshot | undefined): Generator<VhostConfig> {
  yield* config?.vhosts ?? []
  for (const { vhost } of inService?.sites ?? []) yield vhost
}

function* upstreamTlsOf(vhosts: Iterable<VhostConfig>): Generator<UpstreamTlsConfig> {
  for (const vhost of vhosts) {
    for (const answer of answersOf(vhost)) {
      if (answer.kind === 'upstream' && answer.upstream.tls !== undefined) yield answer.upstream.tls
    }
  }
}

function fallbackErrors({ fallbackCertificate }: Config, shelf: CertificateShelf): readonly ConfigError[] {
  const pair = fallbackCertificate === undefined ? undefined : shelf.get(fallbackCertificate)
  return pair === undefined || pair.certificate !== undefined ? [] : pairErrors(pair)
}
