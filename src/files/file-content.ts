// Reads a whole file as it was at one moment, with the version that FileWatch compares later.
// Used for YAML, certificates, keys; never reads devices, pipes or files without bound.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { besideTraffic, type DiskAccess } from './disk-access.js'
import type { FileIdentity } from './file-identity.js'
import { isSameIdentity, isUnchanged, readIdentity, readIdentityNow } from './file-identity.js'

/** What somebody has read and uses. Without a hash the file was missing or could not be read. */
export interface FileVersion {
  /** Also undefined where it does not tell whether reading again gives the same: a very young file, a passing error. */
  readonly identity: FileIdentity | undefined
  /** SHA-256 of the bytes; of a directory, of its sorted names. */
  readonly hash: string | undefined
}

/** A file read whole. */
export interface FileContent {
  readonly bytes: Buffer
  readonly version: FileVersion
}

/** Why a file could not be read; `changing` means that it was being written each time. */
export interface FileProblem {
  readonly code: 'missing' | 'unreadable' | 'not_a_file' | 'too_large' | 'changing'
  readonly message: string
  readonly version: FileVersion
}

/** The largest file that is read; configuration and certificates are a thousand times smaller. */
export const fileBytesMax = 8 * 1024 * 1024

const attemptsMax = 3
const clockTickMs = 20

/** Reads `path` so that bytes and version belong together: a file that changes meanwhile is read again, three times. */
export async function readContent(path: string, disk: DiskAccess = besideTraffic): Promise<FileContent | FileProblem> {
  let identity = await readIdentity(path, { disk })
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const problem = obstacle(path, identity)
    if (problem !== undefined) return problem
    const bytes = await bytesOf(path, disk)
    const after = await readIdentity(path, { previous: identity, disk })
    if (isSameIdentity(identity, after)) {
      if (bytes instanceof Error) return unreadable(path, bytes)
      return { bytes, version: { identity: tellingIdentity(identity), hash: hashOf(bytes) } }
    }
    identity = after
  }
  return failed('changing', `${path} changes while it is being read`)
}

async function bytesOf(path: string, disk: DiskAccess): Promise<Buffer | NodeJS.ErrnoException> {
  try {
    return await disk.readFile(path)
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}

/** The version of a file or directory as it is now, for a comparison with one that is in use. */
export function readVersion(path: string): FileVersion {
  const identity = readIdentityNow(path)
  if (identity === undefined) return { identity, hash: undefined }
  try {
    if (identity.kind === 'directory') return readNow(path, namesIn).version
    return obstacle(path, identity)?.version ?? readNow(path, (file) => readFileSync(file)).version
  } catch {
    // What stands in the way may pass (EMFILE, say) while the file stays as it is.
    return { identity: undefined, hash: undefined }
  }
}

/** The names in a directory, as its version counts them. */
export function namesIn(directory: string): string {
  return readdirSync(directory).sort().join('\0')
}

/**
 * Reads at once what `read` makes of a path, with the version for the watch. Throws what `read` throws. A file that
 * changes meanwhile has no identity in its version, so that the watch compares its content once more.
 */
export function readNow<Content extends Buffer | string>(
  path: string,
  read: (path: string) => Content,
): { readonly content: Content; readonly version: FileVersion } {
  const before = readIdentityNow(path)
  const content = read(path)
  const isStill = before !== undefined && isUnchanged(path, before)
  return { content, version: { identity: isStill ? tellingIdentity(before) : undefined, hash: hashOf(content) } }
}

/** Tells a problem from a content. */
export function isFileProblem(read: FileContent | FileProblem): read is FileProblem {
  return 'code' in read
}

// File systems stamp with a coarse clock: a second write within its tick, of the same length, leaves the identity as it
// is. So a version this young carries none, and a watch compares the content once more.
function tellingIdentity(identity: FileIdentity | undefined): FileIdentity | undefined {
  if (identity === undefined) return undefined
  const ageMs = Date.now() - Number(identity.ctimeNs / 1_000_000n)
  return ageMs >= 0 && ageMs < clockTickMs ? undefined : identity
}

/** The hash by which versions are compared. */
export function hashOf(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('base64url')
}

function obstacle(path: string, identity: FileIdentity | undefined): FileProblem | undefined {
  if (identity === undefined) return failed('missing', `${path} does not exist, or its directory cannot be entered`)
  if (identity.kind !== 'file') return failed('not_a_file', `${path} is not a regular file`, identity)
  if (identity.size > fileBytesMax) return failed('too_large', `${path} is larger than ${fileBytesMax} bytes`, identity)
  return undefined
}

// Without an identity: what stands in the way may pass (EMFILE, say) while the file stays as it is.
function unreadable(path: string, error: NodeJS.ErrnoException): FileProblem {
  if (error.code === 'ENOENT') return failed('missing', `${path} does not exist`)
  return failed('unreadable', `${path} cannot be read (${error.code ?? error.message})`)
}

function failed(code: FileProblem['code'], message: string, identity?: FileIdentity): FileProblem {
  return { code, message, version: { identity, hash: undefined } }
}
