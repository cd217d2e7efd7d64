// Reads a pair of files so that both halves belong together, and says what became of it. Used at start and by reload,
// which owns the retries. A pair that is half renewed is no error: the one that serves goes on serving.
import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { FileContent, FileProblem, FileVersion } from '../files/file-content.js'
import { isFileProblem, readContent, readVersion } from '../files/file-content.js'
import type { CertificateDefect } from './certificate.js'
import { Certificate } from './certificate.js'
import { parseCertificate } from './certificate-parse.js'

/** Where a pair is configured to be. */
export interface PairFiles {
  readonly cert: string
  readonly key: string
}

/** A certificate with the hashes of the bytes that it came from. */
export interface LoadedPair {
  readonly certificate: Certificate
  readonly certHash: string
  readonly keyHash: string
}

/** Why a pair is not what it should become. */
export type PendingReason = 'mismatch' | 'missing' | 'unreadable' | 'parse' | 'refused'

/** What was found at the configured paths, for FileWatch; a renewal under way may have been read elsewhere. */
export type PairVersions = ReadonlyMap<string, FileVersion>

/** What a reading gave. `pending` keeps the pair that was served before; at a cold start there is none to keep. */
export type PairReading =
  | { readonly kind: 'accepted' | 'unchanged'; readonly pair: LoadedPair; readonly versions: PairVersions }
  | {
      readonly kind: 'pending'
      readonly reason: PendingReason
      readonly defects: readonly CertificateDefect[]
      readonly served: LoadedPair | undefined
      readonly versions: PairVersions
    }

/** Reads `files` and compares with what is `served`. Never throws for what is on disk. */
export async function readPair(files: PairFiles, served?: LoadedPair): Promise<PairReading> {
  const { cert, key, versions } = await readOneGeneration(files)
  if (isFileProblem(cert) || isFileProblem(key)) {
    const defects = [...fileDefects('cert', files.cert, cert), ...fileDefects('key', files.key, key)]
    return { kind: 'pending', reason: reasonOf(defects), defects, served, versions }
  }
  const hashes = { certHash: cert.version.hash ?? '', keyHash: key.version.hash ?? '' }
  if (served !== undefined && isSameContent(served, hashes)) return { kind: 'unchanged', pair: served, versions }
  const certificate = prove(files, { cert, key }, served)
  if (certificate instanceof Certificate) return { kind: 'accepted', pair: { certificate, ...hashes }, versions }
  const defects = certificate.map((defect) => tellWhichIsNew(defect, hashes, served))
  return { kind: 'pending', reason: reasonOf(defects), defects, served, versions }
}

const retryDelaysMs = [50, 200, 1_000]

/** After as many retries nobody is just writing any more. */
export const quickRetries = retryDelaysMs.length

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
async function readOneGeneration(files: PairFiles): Promise<GenerationRead> {
  for (let attempt = 1; ; attempt += 1) {
    const paths = await resolveGeneration(files)
    const [cert, key] = await Promise.all([readContent(paths.cert), readContent(paths.key)])
    const linkedKey = paths.key === paths.linkedKey ? key.version : await readVersion(paths.linkedKey)
    const versions = new Map([[files.cert, cert.version]]).set(files.key, linkedKey)
    const after = await resolveGeneration(files)
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
async function resolveGeneration(files: PairFiles): Promise<ResolvedPair> {
  const cert = await resolved(files.cert)
  const linkedKey = await resolved(files.key)
  const numbered = numberedAlike(files, cert, linkedKey)
  const key = numbered === undefined ? linkedKey : await realpath(numbered).catch(() => linkedKey)
  return { cert, key, linkedKey }
}

function resolved(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

// certbot changes its links one by one, the key's before the certificate's, but numbers alike what belongs together.
function numberedAlike(files: PairFiles, cert: string, linkedKey: string): string | undefined {
  const areLinks = basename(cert) !== basename(files.cert) && basename(linkedKey) !== basename(files.key)
  const number = /(\d+)(\.\w+)?$/.exec(basename(cert))?.[1]
  if (!areLinks || number === undefined) return undefined
  return join(dirname(linkedKey), basename(linkedKey).replace(/\d+(\.\w+)?$/, `${number}$1`))
}

type PairHashes = Pick<LoadedPair, 'certHash' | 'keyHash'>

function isSameContent(served: PairHashes, read: PairHashes): boolean {
  return served.certHash === read.certHash && served.keyHash === read.keyHash
}

// What replaces a serving pair must be able to serve; a first one builds its context on its first handshake, because
// ten thousand of them would delay the start by ten seconds and more.
function prove(
  files: PairFiles,
  { cert, key }: Halves<FileContent>,
  served: LoadedPair | undefined,
): Certificate | readonly CertificateDefect[] {
  const result = parseCertificate({
    certFile: files.cert,
    keyFile: files.key,
    certBytes: cert.bytes,
    keyBytes: key.bytes,
  })
  if (!(result instanceof Certificate) || served === undefined) return result
  result.secureContext()
  return result.contextDefect === undefined ? result : [result.contextDefect]
}

function fileDefects(half: 'cert' | 'key', file: string, read: FileContent | FileProblem): CertificateDefect[] {
  if (!isFileProblem(read)) return []
  if (read.code === 'missing') {
    const hint = 'is the path right? relative paths start at the file that names them'
    return [{ code: `${half}_missing`, file, message: read.message, hint }]
  }
  const hint = 'can the user that Hostward runs as read it, and enter its directories?'
  return [{ code: `${half}_unreadable`, file, message: read.message, hint }]
}

function reasonOf(defects: readonly CertificateDefect[]): PendingReason {
  const codes = defects.map(({ code }) => code)
  if (codes.some((code) => code.endsWith('_missing'))) return 'missing'
  if (codes.some((code) => code.endsWith('_unreadable'))) return 'unreadable'
  if (codes.includes('key_mismatch')) return 'mismatch'
  return codes.some((code) => refusals.has(code)) ? 'refused' : 'parse'
}

/** These do not come from writing that is under way: another pair must be put there. */
const refusals: ReadonlySet<string> = new Set([
  'key_weak',
  'key_unsupported',
  'key_encrypted',
  'cert_unusable',
  'leaf_not_first',
])

function tellWhichIsNew(
  defect: CertificateDefect,
  read: PairHashes,
  served: LoadedPair | undefined,
): CertificateDefect {
  if (defect.code !== 'key_mismatch' || served === undefined) return defect
  if (served.certHash === read.certHash) {
    return { ...defect, message: `${defect.message}: the key has changed, the certificate has not` }
  }
  if (served.keyHash === read.keyHash) {
    return { ...defect, message: `${defect.message}: the certificate has changed, the key has not` }
  }
  return defect
}
