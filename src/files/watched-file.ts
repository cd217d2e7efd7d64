// One file or directory as FileWatch knows it: what its users have read, and what the last look found.
import type { FileVersion } from './file-content.js'
import { type FileIdentity, isSameIdentity, readIdentity } from './file-identity.js'

/** A watched path. Only FileWatch changes it. */
export class WatchedFile {
  readonly path: string
  /** What its users have said. */
  readonly given: FileVersion
  /** What they have, or have been told of. */
  used: FileVersion
  seen: FileIdentity | undefined
  /** The last look found what the one before it had found. */
  isSettled: boolean
  /** How many use it. */
  users = 0

  constructor(path: string, given: FileVersion) {
    this.path = path
    this.given = given
    this.used = given
    this.seen = given.identity
    // Without an identity there is something to compare, but not before the next look.
    this.isSettled = given.identity !== undefined
  }

  /** Takes a version that has been read; whether its content is another one. */
  take(version: FileVersion): boolean {
    const isOther = version.hash !== this.used.hash
    this.used = version
    this.seen = version.identity ?? this.seen
    return isOther
  }
}

/** Whether a look has found another thing than what is in use. */
// What was read without an identity that tells is not absent: where nothing is seen any more, it has gone.
export function hasMoved({ seen, used }: WatchedFile): boolean {
  if (seen === undefined && used.identity === undefined) return used.hash !== undefined
  return !isSameIdentity(seen, used.identity)
}

/** Looks at a file again. */
export async function lookAt(file: WatchedFile): Promise<void> {
  const identity = await readIdentity(file.path, { previous: file.seen })
  file.isSettled = isSameIdentity(identity, file.seen)
  file.seen = identity
}
