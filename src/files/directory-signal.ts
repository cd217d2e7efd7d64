// Says "something moved in one of these directories", quickly but without promise: FileWatch's poll is the truth.
// Used by file-watch.ts only; an error here is reported and otherwise changes nothing.
import { FSWatcher } from 'chokidar'

/** What a DirectorySignal tells. */
export interface DirectorySignalListener {
  onSignal(): void
  /** The system refused a watch (EMFILE, ENOSPC); called for each refusal. */
  onError(error: Error): void
}

/** Watches directories, not files: one watch for each, however many files it holds. Closed by its owner. */
export class DirectorySignal {
  readonly #watcher: FSWatcher
  #watched = new Map<string, string>()

  constructor(listener: DirectorySignalListener) {
    // Entries are ignored and only raw events are heard. Otherwise every file in the directory gets a watch of its own
    // (30,002 for 10,000 sites), and a watch on a file is deaf after the first atomic rename of it.
    this.#watcher = new FSWatcher({
      depth: 0,
      followSymlinks: false,
      ignoreInitial: true,
      ignored: (path) => !this.#watched.has(path),
    })
    this.#watcher.on('raw', () => listener.onSignal())
    this.#watcher.on('error', (error) => listener.onError(error as Error))
  }

  /** Watches exactly these from now on: real path to a mark of the inode, so that a directory put in place of another
   *  is watched anew. */
  setDirectories(directories: ReadonlyMap<string, string>): void {
    const before = this.#watched
    const gone = [...before.keys()].filter((path) => directories.get(path) !== before.get(path))
    const fresh = [...directories.keys()].filter((path) => directories.get(path) !== before.get(path))
    if (gone.length > 0) this.#watcher.unwatch(gone)
    this.#watched = new Map(directories)
    if (fresh.length > 0) this.#watcher.add(fresh)
  }

  /** Ends every watch; no signal comes afterwards. */
  close(): Promise<void> {
    return this.#watcher.close()
  }
}
