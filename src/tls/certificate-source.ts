// Reads a pair of files so that both halves belong together, and says what became of it. Used at start and by reload,
// which owns the retries. A pair that is half renewed is no error: the one that serves goes on serving.
import { realpath } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import type { FileContent, FileProblem, FileVersion } from '../files/file-content.js'
import { isFileProblem, readContent } from '../files/file-content.js'
import type { CertificateDefect } from './certificate.js'
import { Certificate } from './certificate.js'
import { parseCertificate } from './certificate-parse.js'

/** Where a pair is configured to be. */
export interface PairFiles {
  readonly cert: string
  readonly key: string
}

/** A certificate with the versions of the files that it came from. */
export interface LoadedPair {
  readonly certificate: Certificate
  readonly cert: FileVersion
  readonly key: FileVersion
}

/** Why a pair is not what it should become. */
export type PendingReason = 'mismatch' | 'missing' | 'unreadable' | 'parse' | 'refused'

/**
 * What a reading gave. `pending` keeps the pair that was served before; without one, at a cold start, there is none
 * to keep. `cert` and `key` are the versions read, for FileWatch.
 */
export type PairReading =
  | { readonly kind: 'accepted' | 'unchanged'; readonly pair: LoadedPair }
  | {
      readonly kind: 'pending'
      readonly reason: PendingReason
      readonly defects: readonly CertificateDefect[]
      readonly served: LoadedPair | undefined
      readonly cert: FileVersion
      readonly key: FileVersion
    }

/** Reads `files` and compares with what is `served`. Never throws for what is on disk. */
export async function readPair(files: PairFiles, served?: LoadedPair): Promise<PairReading> {
  const { cert, key } = await readOneGeneration(files)
  const versions = { cert: cert.version, key: key.version }
  if (isFileProblem(cert) || isFileProblem(key)) {
    const defects = [...fileDefects('cert', files.cert, cert), ...fileDefects('key', files.key, key)]
    return { kind: 'pending', reason: reasonOf(defects), defects, served, ...versions }
  }
  if (served !== undefined && isSameContent(served, versions)) {
    return { kind: 'unchanged', pair: { certificate: served.certificate, ...versions } }
  }
  const certificate = prove(files, { cert, key }, served)
  if (certificate instanceof Certificate) return { kind: 'accepted', pair: { certificate, ...versions } }
  const defects = certificate.map((defect) => tellWhichIsNew(defect, versions, served))
  return { kind: 'pending', reason: reasonOf(defects), defects, served, ...versions }
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

const attemptsMax = 3

// Links may be swapped between two readings. So both paths are resolved once, both files read there, and the links
// compared afterwards: a naive reader gets a certificate of one renewal and the key of another.
async function readOneGeneration(files: PairFiles): Promise<Halves<FileContent | FileProblem>> {
  for (let attempt = 1; ; attempt += 1) {
    const paths = await resolveGeneration(files)
    const [cert, key] = await Promise.all([readContent(paths.cert), readContent(paths.key)])
    const after = await resolveGeneration(files)
    const isSteady = after.cert === paths.cert && after.key === paths.key
    if (isSteady || attempt === attemptsMax) return { cert, key }
  }
}

/** The key that was written together with the certificate, where the layout tells which one that is. */
async function resolveGeneration(files: PairFiles): Promise<PairFiles> {
  const cert = await resolved(files.cert)
  const key = await resolved(files.key)
  const sibling = siblingOf(files, cert, key)
  const isThere = sibling !== undefined && (await realpath(sibling).catch(() => undefined)) !== undefined
  return { cert, key: isThere ? sibling : key }
}

function resolved(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

/** The key of the certificate's own generation: certbot numbers both alike, Kubernetes puts both in one directory. */
function siblingOf(files: PairFiles, cert: string, key: string): string | undefined {
  const number = generationNumber(cert)
  if (number !== undefined && generationNumber(key) !== undefined) {
    const name = basename(key).replace(/\d+(\.[^.]*)?$/, `${number}$1`)
    return join(dirname(key), name)
  }
  const areNeighbours = dirname(files.cert) === dirname(files.key)
  return areNeighbours && dirname(cert) !== dirname(key) ? join(dirname(cert), basename(key)) : undefined
}

function generationNumber(path: string): string | undefined {
  return /\d+$/.exec(basename(path, extname(path)))?.[0]
}

function isSameContent(served: LoadedPair, versions: Halves<FileVersion>): boolean {
  return served.cert.hash === versions.cert.hash && served.key.hash === versions.key.hash
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
  versions: Halves<FileVersion>,
  served: LoadedPair | undefined,
): CertificateDefect {
  if (defect.code !== 'key_mismatch' || served === undefined) return defect
  if (served.cert.hash === versions.cert.hash) {
    return { ...defect, message: `${defect.message}: the key has changed, the certificate has not` }
  }
  if (served.key.hash === versions.key.hash) {
    return { ...defect, message: `${defect.message}: the certificate has changed, the key has not` }
  }
  return defect
}
