// From the main file to a snapshot that could serve: read, parse, prove certificates, compile. Changes nothing that runs.
// Used by the reload, and by the commands that look without serving.

import type { CertificateFiles, Config } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import { loadConfig } from '../config/load.js'
import { type Parse, parseYaml } from '../config/parse.js'
import type { FileVersion } from '../files/file-content.js'
import type { CertificateShelf, RefreshOutcome } from './certificate-shelf.js'
import { Disk } from './disk.js'
import { pairErrors, resolveSites } from './sites.js'
import { compile, type Snapshot } from './snapshot.js'

/** What came of a load. */
export interface LoadOutcome {
  /** Undefined where mistakes outside the sites make the whole unusable. */
  readonly snapshot: Snapshot | undefined
  /** Mistakes outside the sites. */
  readonly errors: readonly ConfigError[]
  /** What was read, in the versions that were read, for the watch. */
  readonly versions: ReadonlyMap<string, FileVersion>
  readonly certificates: RefreshOutcome
}

/** Where a load starts from. */
export interface LoadRequest {
  readonly mainFile: string
  readonly shelf: CertificateShelf
  /** What serves now; undefined at a cold start. */
  readonly previous: Snapshot | undefined
  /** Parses what has changed and remembers the rest; left out, everything is parsed. */
  readonly parse?: Parse
  /** Files that are known to have changed. */
  readonly changed: ReadonlySet<string> | 'all'
}

const nothing: RefreshOutcome = { accepted: [], pending: [] }

/** Loads everything that the main file names. */
export async function load(request: LoadRequest): Promise<LoadOutcome> {
  const disk = new Disk()
  const loaded = loadConfig(request.mainFile, disk, request.parse ?? parseYaml)
  const { config } = loaded
  if (config === undefined) {
    const versions = new Map([...request.shelf.versions(), ...disk.versions])
    return { snapshot: undefined, errors: loaded.errors, versions, certificates: nothing }
  }
  const certificates = await request.shelf.refresh(wantedPairs(config, request.previous), request.changed)
  const versions = new Map([...request.shelf.versions(), ...disk.versions])
  const fallback = config.fallbackCertificate === undefined ? undefined : request.shelf.get(config.fallbackCertificate)
  if (fallback !== undefined && fallback.certificate === undefined) {
    return { snapshot: undefined, errors: pairErrors(fallback), versions, certificates }
  }
  const sites = resolveSites({ ...loaded, config }, request.shelf, request.previous?.sites ?? [])
  const snapshot = compile({ config, sites, fallback: fallback?.certificate }, request.previous)
  return { snapshot, errors: [], versions, certificates }
}

// What an earlier generation serves stays on the shelf: a site that is broken now goes on with it, and is renewed too.
function wantedPairs(config: Config, previous: Snapshot | undefined): CertificateFiles[] {
  const fallback = config.fallbackCertificate === undefined ? [] : [config.fallbackCertificate]
  const kept = previous?.sites.flatMap(({ vhost }) => vhost.certificates) ?? []
  return [...kept, ...fallback, ...config.vhosts.flatMap(({ certificates }) => certificates)]
}
