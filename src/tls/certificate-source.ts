// Reads a pair of files so that both halves belong together, and says what became of it, in plain values: it may run in
// another thread. Used at start and by reload, which owns the retries. A pair that is half renewed is no error: the one
// that serves goes on serving.
import { basename, dirname, join } from 'node:path'
import { besideTraffic, type DiskAccess, destinationOf } from '../files/disk-access.js'
import type { FileContent, FileProblem, FileVersion } from '../files/file-content.js'
import { isFileProblem, readContent, readVersion } from '../files/file-content.js'
import { buildContext, type ProvedPair } from './certificate.js'
import { type LeafOnDisk, parsePair } from './certificate-parse.js'
import { type CertificateDefect, type DefectCode, defect } from './defects.js'
import { isValidAt, type Validity } from './expiry.js'
import { fileDefects } from './file-defects.js'
import { signsFor } from './private-key.js'

/** Where a pair is configured to be. */
export interface PairFiles {
  readonly cert: string
  readonly key: string
}

/** The hashes of the bytes that a pair came from. */
export interface PairHashes {
  readonly certHash: string
  readonly keyHash: string
}

/** What serves now, as far as a reading must know it. */
export interface ServedPair extends PairHashes, Validity {
  /** Whether a pair without the certificate of its issuer is worse than this one, and taken for half written. */
  readonly hasIssuer: boolean
}

/**
 * Why a pair is not what it should become; `dates`: the one that serves is valid, this one is not; `incomplete`: the one
 * that serves has its chain, this one does not, or not yet.
 */
export type PendingReason = 'mismatch' | 'missing' | 'unreadable' | 'parse' | 'refused' | 'dates' | 'incomplete'

/** What was found at the configured paths, for FileWatch; a renewal under way may have been read elsewhere. */
export type PairVersions = ReadonlyMap<string, FileVersion>

/** What is to be read. */
export interface ReadRequest {
  readonly files: PairFiles
  readonly served: ServedPair | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

/** A pair that cannot take over as it is. */
export interface PendingReading {
  readonly kind: 'pending'
  readonly reason: PendingReason
  readonly defects: readonly CertificateDefect[]
  /** The certificate of the file, where it can be read. */
  readonly onDisk: LeafOnDisk | undefined
  readonly versions: PairVersions
}

/** What a reading gave. `warnings` are about the files, not about what is in them. */
export type PairReading =
  | { readonly kind: 'unchanged'; readonly warnings: readonly CertificateDefect[]; readonly versions: PairVersions }
  | {
      readonly kind: 'proved'
      readonly pair: ProvedPair
      readonly hashes: PairHashes
      readonly warnings: readonly CertificateDefect[]
      readonly versions: PairVersions
    }
  | PendingReading

/** Reads a pair and compares it with what is served. Never throws for what is on disk. */
export async function readPair(
  { files, served, nowMs }: ReadRequest,
  disk: DiskAccess = besideTraffic,
): Promise<PairReading> {
  const { cert, key, versions } = await readOneGeneration(files, disk)
  if (isFileProblem(cert) || isFileProblem(key)) {
    const defects = [...problemDefects('cert', files.cert, cert), ...problemDefects('key', files.key, key)]
    return { kind: 'pending', reason: reasonOf(defects), defects, onDisk: undefined, versions }
  }
  const hashes = { certHash: cert.version.hash ?? '', keyHash: key.version.hash ?? '' }
  if (served !== undefined && isSameContent(served, hashes)) {
    return { kind: 'unchanged', warnings: await fileDefects(files, { nowMs, disk }), versions }
  }
  const parsed = parsePair({ certFile: files.cert, keyFile: files.key, certBytes: cert.bytes, keyBytes: key.bytes })
  if (parsed.kind === 'refused') {
    const defects = parsed.defects.map((found) => tellWhichIsNew(found, hashes, served))
    return { kind: 'pending', reason: reasonOf(defects), defects, onDisk: parsed.leaf, versions }
  }
  const { pair } = parsed
  const obstacle = served === undefined ? undefined : obstacleTo(pair, served, nowMs)
  if (obstacle === undefined) {
    return { kind: 'proved', pair, hashes, warnings: await fileDefects(files, { nowMs, disk }), versions }
  }
  return { kind: 'pending', reason: reasonOf([obstacle]), defects: [obstacle], onDisk: pair.facts, versions }
}

const retryDelaysMs = [50, 200, 1_000]

/** How long to wait before a pending pair is read again; `attempt` counts from 0, later ones follow the poll. */
export function retryDelayMs(attempt: number, pollMs: number): number {
  return retryDelaysMs[attempt] ?? pollMs
}

interface Halves<Half> {
  readonly cert: Half
  readonly key: Half
}

type GenerationRead = Halves<FileContent | FileProblem> & { readonly versions: PairVersions }

const attemptsMax = 5

// Links may be swapped between two readings. So both paths are resolved once, both files read there, and the links
// compared afterwards: a naive reader gets a certificate of one renewal and the key of another.
async function readOneGeneration(files: PairFiles, disk: DiskAccess): Promise<GenerationRead> {
  for (let attempt = 1; ; attempt += 1) {
    const paths = await resolveGeneration(files, disk)
    const [cert, key] = await Promise.all([readContent(paths.cert, disk), readContent(paths.key, disk)])
    const linkedKey = paths.key === paths.linkedKey ? key.version : await readVersion(paths.linkedKey)
    const versions = new Map([[files.cert, cert.version]]).set(files.key, linkedKey)
    const after = await resolveGeneration(files, disk)
    if (after.cert === paths.cert && after.key === paths.key) return { cert, key, versions }
    if (attempt < attemptsMax) continue
    const message = `${files.cert} and ${files.key} lead elsewhere each time they are read`
    return { cert: { code: 'changing', message, version: cert.version }, key, versions }
  }
}

interface ResolvedPair extends PairFiles {
  /** Where the configured key path leads, whatever key is read. */
  readonly linkedKey: string
}

/** The key that was written together with the certificate, where the layout tells which one that is. */
async function resolveGeneration(files: PairFiles, disk: DiskAccess): Promise<ResolvedPair> {
  const cert = (await destinationOf(files.cert, disk)) ?? files.cert
  const linkedKey = (await destinationOf(files.key, disk)) ?? files.key
  const numbered = numberedAlike(files, cert, linkedKey)
  const numberedKey = numbered === undefined ? undefined : await destinationOf(numbered, disk)
  return { cert, key: numberedKey ?? linkedKey, linkedKey }
}

// certbot changes its links one by one, the key's before the certificate's, but numbers alike what belongs together.
function numberedAlike(files: PairFiles, cert: string, linkedKey: string): string | undefined {
  const areLinks = basename(cert) !== basename(files.cert) && basename(linkedKey) !== basename(files.key)
  const number = /(\d+)(\.\w+)?$/.exec(basename(cert))?.[1]
  if (!areLinks || number === undefined) return undefined
  return join(dirname(linkedKey), basename(linkedKey).replace(/\d+(\.\w+)?$/, `${number}$1`))
}

function isSameContent(served: PairHashes, read: PairHashes): boolean {
  return served.certHash === read.certHash && served.keyHash === read.keyHash
}

// What replaces a serving pair must be able to serve, and no worse; a first one builds its context on its first
// handshake, because ten thousand of them would delay the start by ten seconds and more.
function obstacleTo({ facts, keyPem }: ProvedPair, served: ServedPair, nowMs: number): CertificateDefect | undefined {
  if (isValidAt(served, nowMs) && !isValidAt(facts, nowMs)) return dateDefect(facts, nowMs)
  const incomplete = served.hasIssuer && facts.warnings.find(({ code }) => code === 'chain_incomplete')
  if (incomplete) return incomplete
  const built = buildContext({ facts, keyPem })
  if ('code' in built) return built
  if (signsFor(keyPem, facts.chain[0] ?? '')) return undefined
  const message = 'the private key makes no signature that its certificate verifies: half of it is of another key'
  return defect('key_invalid', { file: facts.keyFile, message })
}

function dateDefect({ certFile, notBeforeMs, notAfterMs }: ProvedPair['facts'], nowMs: number): CertificateDefect {
  const isEarly = nowMs < notBeforeMs
  const when = new Date(isEarly ? notBeforeMs : notAfterMs).toISOString()
  const kept = 'the one before it is, and serves on'
  if (!isEarly) return defect('expired', { file: certFile, message: `the certificate expired on ${when}; ${kept}` })
  return defect('not_yet_valid', { file: certFile, message: `the certificate is not valid before ${when}; ${kept}` })
}

function problemDefects(half: 'cert' | 'key', file: string, read: FileContent | FileProblem): CertificateDefect[] {
  if (!isFileProblem(read)) return []
  return [defect(read.code === 'missing' ? `${half}_missing` : `${half}_unreadable`, { file, message: read.message })]
}

function reasonOf(defects: readonly CertificateDefect[]): PendingReason {
  const codes = defects.map(({ code }) => code)
  if (defects.some(({ act }) => act === 'keep')) return 'dates'
  if (codes.some((code) => code.endsWith('_missing'))) return 'missing'
  if (codes.some((code) => code.endsWith('_unreadable'))) return 'unreadable'
  if (codes.includes('key_mismatch')) return 'mismatch'
  if (codes.includes('chain_incomplete')) return 'incomplete'
  return codes.some((code) => refusals.has(code)) ? 'refused' : 'parse'
}

/** These do not come from writing that is under way: another pair must be put there. */
const refusals: ReadonlySet<string> = new Set<DefectCode>([
  'key_weak',
  'key_unsupported',
  'key_encrypted',
  'signature_weak',
  'cert_unusable',
  'leaf_not_first',
])

function tellWhichIsNew(found: CertificateDefect, read: PairHashes, served: ServedPair | undefined): CertificateDefect {
  if (found.code !== 'key_mismatch' || served === undefined) return found
  if (served.certHash === read.certHash) {
    return { ...found, message: `${found.message}: the key has changed, the certificate has not` }
  }
  if (served.keyHash === read.keyHash) {
    return { ...found, message: `${found.message}: the certificate has changed, the key has not` }
  }
  return found
}
