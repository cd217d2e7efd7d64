// What is wrong with the files of a pair, whatever is in them: who else may read the key or replace it, and times that
// cannot be. Used by certificate-source.ts.
import { dirname } from 'node:path'
import { besideTraffic, type DiskAccess, destinationOf } from '../files/disk-access.js'
import { type CertificateDefect, defect } from './defects.js'

const skewMs = 60_000

/** Warnings about both files; nothing about one that is just being replaced. */
export async function fileDefects(
  files: { readonly cert: string; readonly key: string },
  { nowMs, disk = besideTraffic }: { readonly nowMs: number; readonly disk?: DiskAccess },
): Promise<CertificateDefect[]> {
  const key = (await destinationOf(files.key, disk)) ?? files.key
  const directories = [...new Set([dirname(files.key), dirname(key)])]
  const [certStats, keyStats, ...directoryStats] = await Promise.all(
    [files.cert, key, ...directories].map((path) => statusOf(path, disk)),
  )
  return [
    ...fromTheFuture(files.cert, certStats, nowMs),
    ...fromTheFuture(files.key, keyStats, nowMs),
    ...keyDefects(files.key, keyStats),
    ...directories.flatMap((directory, index) => directoryDefects(files.key, directory, directoryStats[index])),
  ]
}

/** What is asked of the status of a file. */
interface FileStatus {
  readonly mode: number
  readonly uid: number
  readonly mtimeMs: number
}

async function statusOf(path: string, disk: DiskAccess): Promise<FileStatus | undefined> {
  try {
    const { mode, uid, mtimeMs } = await disk.stat(path)
    return { mode: Number(mode), uid: Number(uid), mtimeMs: Number(mtimeMs) }
  } catch {
    // A file that is just being replaced: the next reading tells of it.
    return undefined
  }
}

function fromTheFuture(file: string, stats: FileStatus | undefined, nowMs: number): CertificateDefect[] {
  if (stats === undefined || stats.mtimeMs <= nowMs + skewMs) return []
  return [
    defect('clock_skew', {
      file,
      message: `the file was changed in the future, on ${new Date(stats.mtimeMs).toISOString()}`,
    }),
  ]
}

const worldRead = 0o004
const groupOrWorldWrite = 0o022
const worldWrite = 0o002
const sticky = 0o1000

// A group of its own that may read is how a key is given to a service that is not root.
function keyDefects(file: string, stats: FileStatus | undefined): CertificateDefect[] {
  if (stats === undefined || process.getuid === undefined) return []
  const messages: string[] = []
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0')
  if ((stats.mode & worldRead) !== 0) messages.push(`everybody on this machine can read the private key (mode ${mode})`)
  if ((stats.mode & groupOrWorldWrite) !== 0) messages.push(`others can change the private key (mode ${mode})`)
  if (![0, process.geteuid?.()].includes(stats.uid)) messages.push(`the private key belongs to user ${stats.uid}`)
  return messages.map((message) => defect('key_permissions', { file, message }))
}

function directoryDefects(file: string, directory: string, stats: FileStatus | undefined): CertificateDefect[] {
  if (stats === undefined || process.getuid === undefined) return []
  if ((stats.mode & worldWrite) === 0 || (stats.mode & sticky) !== 0) return []
  const message = `everybody on this machine can replace the private key: ${directory} is writable by all`
  return [defect('key_permissions', { file, message, hint: `chmod o-w ${directory}` })]
}
