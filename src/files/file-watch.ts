// Tells when files that are in use have changed on disk, whatever way they were changed. Used by the reload.
// The truth is a poll of identity, then of content; the directory signal only makes the next look come sooner.
import { basename, dirname } from 'node:path'
import { forEachBounded } from './bounded.js'
import { DirectorySignal } from './directory-signal.js'
import type { FileVersion } from './file-content.js'
import { readVersion } from './file-content.js'
import type { FileIdentity } from './file-identity.js'
import { isSameIdentity, readIdentity } from './file-identity.js'

/** How a FileWatch behaves and whom it tells. */
export interface FileWatchOptions {
  /** Without it nothing is looked at but by `checkNow`. */
  readonly watch: boolean
  readonly pollMs: number
  /** A changed file is reported once it stayed as it is for this long; also how soon a signal is followed. */
  readonly debounceMs: number
  /** Paths whose content differs from the version in use; called once for each change. */
  readonly onChange: (paths: ReadonlySet<string>) => void
  /** The quick signal is lost (say EMFILE); the poll goes on. Called once for each error code. */
  readonly onSignalLost: (error: Error) => void
}

interface WatchedFile {
  readonly path: string
  /** What the caller uses; undefined until the first look where the caller did not say. */
  used: FileVersion | undefined
  /** What the last look found. */
  seen: FileIdentity | undefined
  isSettled: boolean
}

const looksAtOnce = 16
// Something that is written without pause must not hold back what else has changed.
const settleMsMax = 1_000

/** Watches a changeable set of files and directories, missing ones too. Closed by its owner. */
export class FileWatch {
  readonly #options: FileWatchOptions
  readonly #signal: DirectorySignal | undefined
  readonly #errorCodes = new Set<string>()
  #files = new Map<string, WatchedFile>()
  #timer: NodeJS.Timeout | undefined
  #timerDueMs = Number.POSITIVE_INFINITY
  #looking: Promise<unknown> = Promise.resolve()
  #isSignalled = false
  #isClosed = false
  #unsettledSinceMs: number | undefined
  #directoriesAreStale = true

  constructor(options: FileWatchOptions) {
    this.#options = options
    if (!options.watch) return
    this.#signal = new DirectorySignal({
      onSignal: () => this.#hurry(),
      onError: (error) => this.#reportSignalLost(error),
    })
    this.#schedule(options.pollMs)
  }

  /**
   * Watches exactly these from now on. The version is what the caller has read and uses, so that a change between
   * its reading and this call is not missed; undefined takes what the next look finds. A directory counts as changed
   * when the names in it do.
   */
  setFiles(files: ReadonlyMap<string, FileVersion | undefined>): void {
    const before = this.#files
    this.#files = new Map()
    for (const [path, version] of files) {
      const used = version ?? before.get(path)?.used
      this.#files.set(path, { path, used, seen: used?.identity, isSettled: true })
    }
    this.#directoriesAreStale = true
    this.#hurry()
  }

  /** Looks without waiting for writers to finish, and returns what has changed instead of calling `onChange`. */
  checkNow(): Promise<ReadonlySet<string>> {
    return this.#inTurn(async () => {
      await this.#look()
      this.#unsettledSinceMs = undefined
      return this.#takeChanges()
    })
  }

  /** Ends timers and watches; resolves when the last look is over. Nothing is called afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#signal?.close()
    await this.#looking
  }

  #hurry(): void {
    this.#isSignalled = true
    this.#schedule(this.#options.debounceMs)
  }

  #schedule(delayMs: number): void {
    const dueMs = performance.now() + delayMs
    if (this.#isClosed || !this.#options.watch || dueMs >= this.#timerDueMs) return
    clearTimeout(this.#timer)
    this.#timerDueMs = dueMs
    this.#timer = setTimeout(() => void this.#inTurn(() => this.#poll()), delayMs)
  }

  // One look at a time: a slow disk must not pile up looks.
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#looking.then(work)
    this.#looking = turn.catch(() => undefined)
    return turn
  }

  async #poll(): Promise<void> {
    this.#isSignalled = false
    await this.#look()
    const isWaiting = this.#isWaitingToSettle()
    const changes = isWaiting ? new Set<string>() : await this.#takeChanges()
    this.#timerDueMs = Number.POSITIVE_INFINITY
    this.#schedule(isWaiting || this.#isSignalled ? this.#options.debounceMs : this.#options.pollMs)
    if (changes.size > 0 && !this.#isClosed) this.#options.onChange(changes)
  }

  async #look(): Promise<void> {
    await forEachBounded([...this.#files.values()], looksAtOnce, lookAt)
    if (this.#directoriesAreStale || this.#moved().length > 0) await this.#watchDirectories()
  }

  #moved(): WatchedFile[] {
    return [...this.#files.values()].filter(hasMoved)
  }

  #isWaitingToSettle(): boolean {
    const isUnsettled = this.#moved().some((file) => !file.isSettled)
    if (!isUnsettled) this.#unsettledSinceMs = undefined
    else this.#unsettledSinceMs ??= performance.now()
    return this.#unsettledSinceMs !== undefined && performance.now() - this.#unsettledSinceMs < settleMsMax
  }

  async #takeChanges(): Promise<ReadonlySet<string>> {
    const changes = new Set<string>()
    await forEachBounded(this.#moved(), looksAtOnce, async (file) => {
      const version = await readVersion(file.path)
      // setFiles may have replaced the entry meanwhile; then its version is newer than ours.
      if (this.#files.get(file.path) !== file) return
      if (version.hash !== file.used?.hash) changes.add(file.path)
      file.used = version
      file.seen = version.identity ?? file.seen
    })
    return changes
  }

  async #watchDirectories(): Promise<void> {
    this.#directoriesAreStale = false
    if (this.#signal === undefined || this.#isClosed) return
    const files = [...this.#files.values()]
    const marks = await directoriesOf(files)
    if (!this.#isClosed) this.#signal.setDirectories({ marks, names: namesOf(files) })
  }

  #reportSignalLost(error: NodeJS.ErrnoException): void {
    const code = error.code ?? error.message
    if (this.#errorCodes.has(code) || this.#isClosed) return
    this.#errorCodes.add(code)
    this.#options.onSignalLost(error)
  }
}

// What was read without an identity that tells is not absent: where nothing is seen any more, it has gone.
function hasMoved({ seen, used }: WatchedFile): boolean {
  if (seen === undefined && used?.identity === undefined) return used?.hash !== undefined
  return !isSameIdentity(seen, used?.identity)
}

async function lookAt(file: WatchedFile): Promise<void> {
  if (file.used === undefined) {
    file.used = await readVersion(file.path)
    file.seen = file.used.identity
    return
  }
  const identity = await readIdentity(file.path, file.seen)
  file.isSettled = isSameIdentity(identity, file.seen)
  file.seen = identity
}

/** The directory of the link and that of what it leads to, by real path, each with a mark of its inode. */
async function directoriesOf(files: readonly WatchedFile[]): Promise<Map<string, string>> {
  const paths = new Set<string>()
  for (const { path, seen } of files) {
    paths.add(dirname(path))
    if (seen !== undefined) paths.add(seen.kind === 'directory' ? seen.realpath : dirname(seen.realpath))
  }
  const marks = new Map<string, string>()
  await forEachBounded([...paths], looksAtOnce, async (path) => {
    const identity = await readIdentity(path)
    if (identity?.kind === 'directory') marks.set(identity.realpath, `${identity.dev}:${identity.ino}`)
  })
  return marks
}

/** What the files are called, as links and where these lead to. */
function namesOf(files: readonly WatchedFile[]): Set<string> {
  const names = new Set<string>()
  for (const { path, seen } of files) {
    names.add(basename(path))
    if (seen !== undefined) names.add(basename(seen.realpath))
  }
  return names
}
