// Says "something moved in one of these directories", quickly but without promise: FileWatch's poll is the truth.
// Used by file-watch.ts only; an error here is reported and otherwise changes nothing.
import { type FSWatcher, watch } from 'node:fs'

/** What a DirectorySignal tells. */
export interface DirectorySignalListener {
  onSignal(): void
  /** The system refused a watch (EMFILE, ENOSPC); called for each refusal. */
  onError(error: Error): void
}

/** What is watched: directories by real path with a mark of their inode, and the names in them that are of interest. */
export interface WatchedDirectories {
  readonly marks: ReadonlyMap<string, string>
  readonly names: ReadonlySet<string>
}

interface Watch {
  readonly mark: string
  readonly watcher: FSWatcher
}

/** Watches directories, not files: a watch on a file is deaf after the first atomic rename of it. Closed by its owner. */
export class DirectorySignal {
  readonly #listener: DirectorySignalListener
  readonly #watches = new Map<string, Watch>()
  #names: ReadonlySet<string> = new Set()

  constructor(listener: DirectorySignalListener) {
    this.#listener = listener
  }

  /** Watches exactly these from now on; a directory put in place of another is watched anew. */
  setDirectories({ marks, names }: WatchedDirectories): void {
    this.#names = names
    for (const [path, { mark, watcher }] of this.#watches) {
      if (marks.get(path) === mark) continue
      watcher.close()
      this.#watches.delete(path)
    }
    for (const [path, mark] of marks) if (!this.#watches.has(path)) this.#watch(path, mark)
  }

  /** Ends every watch; no signal comes afterwards. */
  close(): void {
    for (const { watcher } of this.#watches.values()) watcher.close()
    this.#watches.clear()
  }

  #watch(path: string, mark: string): void {
    try {
      const watcher = watch(path, { persistent: false }, (event, name) => this.#onEvent(event, name))
      watcher.on('error', (error) => this.#listener.onError(error))
      this.#watches.set(path, { mark, watcher })
    } catch (error) {
      this.#listener.onError(error as Error)
    }
  }

  // A name that comes or goes may be a link to what is watched, whatever it is called. Content that changes matters for
  // the files themselves alone: a log that is written in the same directory would keep us looking without end.
  #onEvent(event: string, name: string | null): void {
    if (event === 'rename' || name === null || this.#names.has(name)) this.#listener.onSignal()
  }
}
