// What tells one state of a file from another without reading it. Used by file-content.ts and file-watch.ts.
// Identity is a hint that bytes may have changed; only a content hash says that they did.
import { type BigIntStats, realpathSync, statSync } from 'node:fs'
import { besideTraffic, type DiskAccess } from './disk-access.js'

/** Where a path leads and what is there. Times are nanoseconds; ctime catches a rename that kept an older mtime. */
export interface FileIdentity {
  readonly realpath: string
  readonly kind: 'file' | 'directory' | 'other'
  readonly dev: bigint
  readonly ino: bigint
  readonly size: bigint
  readonly mtimeNs: bigint
  readonly ctimeNs: bigint
}

/** How an identity is read. */
export interface IdentityReading {
  readonly previous?: FileIdentity | undefined
  readonly disk?: DiskAccess
}

/**
 * Follows links to what `path` leads to; undefined where nothing can be reached. Given the `previous` identity, an
 * unchanged file costs one stat: the same inode with the same times is the same file, whatever name leads to it.
 */
export async function readIdentity(
  path: string,
  { previous, disk = besideTraffic }: IdentityReading = {},
): Promise<FileIdentity | undefined> {
  try {
    const stats = await disk.stat(path)
    if (previous !== undefined && isSameFile(previous, stats)) return previous
    return identityOf(await disk.realpath(path), stats)
  } catch {
    // Missing, a dangling or looping link, a directory without permission: for a watcher there is nothing at this path.
    return undefined
  }
}

/** The same at once; for files on the local disk it costs a third of the time, all of it on this thread. */
export function readIdentityNow(path: string): FileIdentity | undefined {
  const stats = statNow(path)
  try {
    return stats && identityOf(realpathSync.native(path), stats)
  } catch {
    return undefined
  }
}

/** Whether what `path` leads to is still what it was. */
export function isUnchanged(path: string, identity: FileIdentity): boolean {
  const stats = statNow(path)
  return stats !== undefined && isSameFile(identity, stats)
}

function statNow(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Whether two looks at one path found the same thing; two absences are the same. */
export function isSameIdentity(left: FileIdentity | undefined, right: FileIdentity | undefined): boolean {
  if (left === undefined || right === undefined) return left === right
  return isSameFile(left, right) && left.realpath === right.realpath
}

type Measured = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs' | 'ctimeNs'>

function isSameFile(left: Measured, right: Measured): boolean {
  return (
    left.ino === right.ino &&
    left.ctimeNs === right.ctimeNs &&
    left.mtimeNs === right.mtimeNs &&
    left.size === right.size &&
    left.dev === right.dev
  )
}

function identityOf(path: string, stats: BigIntStats): FileIdentity {
  const { dev, ino, size, mtimeNs, ctimeNs } = stats
  return { realpath: path, kind: kindOf(stats), dev, ino, size, mtimeNs, ctimeNs }
}

function kindOf(stats: BigIntStats): FileIdentity['kind'] {
  if (stats.isFile()) return 'file'
  return stats.isDirectory() ? 'directory' : 'other'
}
