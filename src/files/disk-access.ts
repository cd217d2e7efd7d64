// What readers of files ask of a disk, in two manners. Used where one body of code must read both beside traffic and in a
// thread that has nothing else to do. Errors are those of node:fs.
import { type BigIntStats, readFileSync, realpathSync, statSync } from 'node:fs'
import { readFile, realpath, stat } from 'node:fs/promises'

/** What is asked; callers await the answers, whichever manner it is. */
export interface DiskAccess {
  stat(path: string): BigIntStats | Promise<BigIntStats>
  realpath(path: string): string | Promise<string>
  readFile(path: string): Buffer | Promise<Buffer>
}

/** The thread serves traffic meanwhile: a slow disk holds nobody up. */
export const besideTraffic: DiskAccess = {
  stat: (path) => stat(path, { bigint: true }),
  realpath: (path) => realpath(path),
  readFile: (path) => readFile(path),
}

/** At once, in a third of the time, all of it on this thread. */
export const atOnce: DiskAccess = {
  stat: (path) => statSync(path, { bigint: true }),
  realpath: (path) => realpathSync.native(path),
  readFile: (path) => readFileSync(path),
}

/** Where a path leads; undefined where it leads nowhere. */
export async function destinationOf(path: string, disk: DiskAccess): Promise<string | undefined> {
  try {
    return await disk.realpath(path)
  } catch {
    return undefined
  }
}
