// The configuration and its certificates as a cold start would find them, without serving. Used by check, certs and why.
import { resolve } from 'node:path'
import type { CertificateFiles, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import type { LoadedConfig } from '../config/load.js'
import type { ShelvedPair } from '../server/certificate-shelf.js'
import { load } from '../server/load.js'
import { trustErrorsOf } from '../server/sites.js'
import type { Snapshot } from '../server/snapshot.js'
import { Stock } from '../server/stock.js'

/** What was found. */
export interface Inspection {
  /** Absolute. */
  readonly mainFile: string
  /** The files and their mistakes. */
  readonly loaded: LoadedConfig
  /** What would serve; undefined where nothing would. */
  readonly snapshot: Snapshot | undefined
  /** A configured pair as read; undefined where the configuration is unusable. */
  pair(files: CertificateFiles): ShelvedPair | undefined
  /** Mistakes in the files that say whom a site trusts. */
  trustErrors(vhost: VhostConfig): readonly ConfigError[]
}

// Endpoints that are never put into service have nothing to tell.
const nobody = { onDown: () => undefined, onUp: () => undefined, onPeerCertificate: () => undefined }

/** Reads and proves everything that the main file names. */
export async function inspect(mainFile: string): Promise<Inspection> {
  const stock = new Stock(nobody)
  const { loaded, snapshot } = await load({ mainFile, stock, previous: undefined, changed: 'all' })
  return {
    mainFile: resolve(mainFile),
    loaded,
    snapshot,
    pair: (files) => placed(files, stock.certificates.get(files)),
    trustErrors: (vhost) => trustErrorsOf(vhost, stock),
  }
}

// A pair that several sites name is read once, and its mistakes belong to each of the places.
function placed(files: CertificateFiles, pair: ShelvedPair | undefined): ShelvedPair | undefined {
  return pair === undefined ? undefined : { ...pair, files }
}
