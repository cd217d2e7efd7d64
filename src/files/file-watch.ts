// Tells when files that are in use have changed on disk, whatever way they were changed. Used by the reload.
// The truth is a poll of identity, then of content; signals of the system only make the next look come sooner.
import { forEachBounded } from './bounded.js'
import { DirectoryIndex } from './directory-index.js'
import { readVersion } from './file-content.js'
import { readIdentity } from './file-identity.js'
import { Slices } from './slices.js'
import { hasMoved, lookAt, type WatchedFile } from './watched-file.js'
import { type FileUse, WatchedSet } from './watched-set.js'

/** How a FileWatch behaves and whom it tells. */
export interface FileWatchOptions {
  /** Without it nothing is looked at but by `checkNow`. */
  readonly watch: boolean
  readonly pollMs: number
  /** A changed file is reported once it stayed as it is for this long. */
  readonly debounceMs: number
  /** Paths whose content differs from the version in use; called once for each change. */
  readonly onChange: (paths: ReadonlySet<string>) => void
  /** The quick signal is lost (say EMFILE); the poll goes on. Called once for each error code. */
  readonly onSignalLost: (error: Error) => void
}

const looksAtOnce = 16
/** A look costs twenty microseconds; of more files than these a poll looks at some after the others. */
const looksAPollMax = 2_000
/** Few enough that an event was dropped only where there were many more. */
const signalsOfAFlood = 1_000
/** Events come in bundles. */
const bundleMs = 10
// Something that is written without pause must not hold back what else has changed.
const settleMsMax = 1_000

/** Watches a changeable set of files and directories, missing ones too. Closed by its owner. */
export class FileWatch {
  readonly #options: FileWatchOptions
  readonly #index: DirectoryIndex<WatchedFile> | undefined
  readonly #errorCodes = new Set<string>()
  readonly #files = new WatchedSet()
  /** How often files have come to be watched. */
  #set = 0
  /** What the next look is for. */
  readonly #due = new Set<WatchedFile>()
  /** What has another identity than the version in use. */
  readonly #moved = new Set<WatchedFile>()
  /** Those that polls have not come to yet. */
  #round: Iterator<WatchedFile> = [].values()
  #nextPollMs: number
  #timer: NodeJS.Timeout | undefined
  #timerDueMs = Number.POSITIVE_INFINITY
  #looking: Promise<unknown> = Promise.resolve()
  /** How many came since all was looked at. */
  #signals = 0
  #floodTimer: NodeJS.Timeout | undefined
  #isClosed = false
  #unsettledSinceMs: number | undefined

  constructor(options: FileWatchOptions) {
    this.#options = options
    this.#nextPollMs = performance.now() + options.pollMs
    if (!options.watch) return
    this.#index = new DirectoryIndex({
      onSignal: (files) => this.#signalled(files),
      onError: (error) => this.#reportSignalLost(error),
    })
    this.#schedule(options.pollMs)
  }

  /**
   * Watches exactly these from now on. The version is what the caller has read and uses, so that a change between
   * its reading and this call is not missed. A directory counts as changed when the names in it do.
   */
  setFiles(uses: readonly FileUse[]): void {
    const { fresh, dropped } = this.#files.set(uses)
    for (const file of dropped) this.#forget(file)
    if (fresh.length === 0) return
    this.#set += 1
    this.#hurry(fresh)
  }

  /** Looks without waiting for writers to finish, and returns what has changed instead of calling `onChange`. */
  checkNow(): Promise<ReadonlySet<string>> {
    return this.#inTurn(async () => {
      await this.#look(this.#files.values())
      this.#unsettledSinceMs = undefined
      return await this.#takeChanges()
    })
  }

  /** Ends timers and watches; resolves when the last look is over. Nothing is called afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#floodTimer)
    this.#index?.close()
    await this.#looking
  }

  #forget(file: WatchedFile): void {
    this.#due.delete(file)
    this.#moved.delete(file)
    this.#index?.delete(file)
  }

  // The system keeps so many events (16,384 on Linux) and drops the others; of that, nobody hears. So after many, all is looked at.
  #signalled(files: Iterable<WatchedFile>): void {
    this.#hurry(files)
    this.#signals += 1
    if (this.#signals < signalsOfAFlood || this.#isClosed) return
    this.#floodTimer ??= setTimeout(() => this.#lookAtAll(), this.#options.debounceMs)
    this.#floodTimer.refresh()
  }

  #lookAtAll(): void {
    this.#signals = 0
    this.#floodTimer = undefined
    this.#hurry(this.#files.values())
  }

  #hurry(files: Iterable<WatchedFile>): void {
    const before = this.#due.size
    for (const file of files) this.#due.add(file)
    if (this.#due.size > before) this.#schedule(Math.min(bundleMs, this.#options.debounceMs))
  }

  #schedule(delayMs: number): void {
    const dueMs = performance.now() + delayMs
    if (this.#isClosed || !this.#options.watch || dueMs >= this.#timerDueMs) return
    clearTimeout(this.#timer)
    this.#timerDueMs = dueMs
    this.#timer = setTimeout(() => void this.#inTurn(() => this.#work()), delayMs)
  }

  // One look at a time: a slow disk must not pile up looks.
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#looking.then(work)
    this.#looking = turn.catch(() => undefined)
    return turn
  }

  async #work(): Promise<void> {
    this.#timerDueMs = Number.POSITIVE_INFINITY
    if (performance.now() >= this.#nextPollMs) await this.#poll()
    let set: number
    // What comes to be watched in the middle of a look is looked at too: a change would be told without another one that
    // was made before it.
    do {
      set = this.#set
      const due = [...this.#due]
      this.#due.clear()
      await this.#look(due)
    } while (set !== this.#set && !this.#isClosed)
    const isWaiting = this.#isWaitingToSettle()
    const changes = isWaiting ? nothing : await this.#takeChanges()
    if (isWaiting) for (const file of this.#moved) this.#due.add(file)
    // A look may take longer than the time between two polls, and newer runtimes warn of a negative delay.
    this.#schedule(isWaiting ? this.#options.debounceMs : Math.max(0, this.#nextPollMs - performance.now()))
    if (changes.size > 0 && !this.#isClosed) this.#options.onChange(changes)
  }

  /** Makes due what a signal may have missed: what stands in another directory than before, and the next files in turn. */
  async #poll(): Promise<void> {
    this.#nextPollMs = performance.now() + this.#options.pollMs
    await this.#lookAtDirectories()
    // Where the system tells nothing, nothing but the poll does.
    let looks = this.#errorCodes.size > 0 ? this.#files.size : Math.min(this.#files.size, looksAPollMax)
    for (; looks > 0; looks -= 1) {
      let next = this.#round.next()
      if (next.done === true) {
        this.#round = this.#files.values()
        next = this.#round.next()
      }
      if (next.done !== true) this.#due.add(next.value)
    }
  }

  async #lookAtDirectories(): Promise<void> {
    const index = this.#index
    if (index === undefined) return
    await forEachBounded(index.directories(looksAPollMax), looksAtOnce, async ({ path, identity: before }) => {
      const identity = await readIdentity(path)
      const isSame = identity?.ino === before?.ino && identity?.dev === before?.dev
      if (isSame && identity?.realpath === before?.realpath) return
      if (!this.#isClosed) for (const file of index.replace(path, identity)) this.#due.add(file)
    })
  }

  async #look(files: Iterable<WatchedFile>): Promise<void> {
    await forEachBounded([...files], looksAtOnce, async (file) => {
      // Watched before it is looked at, or a change in between would be missed.
      if (!this.#isClosed) this.#index?.set(file)
      await lookAt(file)
      if (this.#isClosed || !this.#files.has(file)) return
      this.#index?.set(file)
      if (hasMoved(file)) this.#moved.add(file)
      else this.#moved.delete(file)
    })
  }

  #isWaitingToSettle(): boolean {
    const isUnsettled = [...this.#moved].some((file) => !file.isSettled)
    if (!isUnsettled) this.#unsettledSinceMs = undefined
    else this.#unsettledSinceMs ??= performance.now()
    return this.#unsettledSinceMs !== undefined && performance.now() - this.#unsettledSinceMs < settleMsMax
  }

  async #takeChanges(): Promise<ReadonlySet<string>> {
    if (this.#moved.size === 0) return nothing
    const changes = new Set<string>()
    const slices = new Slices()
    for (const file of [...this.#moved]) {
      const pause = slices.next()
      if (pause !== undefined) await pause
      // setFiles may have replaced the entry meanwhile; then its version is newer than ours.
      if (!this.#files.has(file)) continue
      if (file.take(readVersion(file.path))) changes.add(file.path)
      if (!hasMoved(file)) this.#moved.delete(file)
    }
    return changes
  }

  #reportSignalLost(error: NodeJS.ErrnoException): void {
    const code = error.code ?? error.message
    if (this.#errorCodes.has(code) || this.#isClosed) return
    this.#errorCodes.add(code)
    this.#options.onSignalLost(error)
  }
}

const nothing: ReadonlySet<string> = new Set()
