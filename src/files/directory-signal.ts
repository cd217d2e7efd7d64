// Says what moved in a directory, quickly but without promise: FileWatch's poll is the truth. Used by directory-index.ts
// only; an error here is reported and otherwise changes nothing.
import { type FSWatcher, watch } from 'node:fs'

/** What the system says of a directory: something came, went or was replaced, or a content changed. */
export interface DirectoryEvent {
  readonly kind: 'rename' | 'change'
  /** Undefined where the system does not say. */
  readonly name: string | undefined
}

/** What a DirectorySignal tells. */
export interface DirectorySignalListener {
  onEvent(event: DirectoryEvent): void
  /** The system refused the watch (EMFILE, ENOSPC) or ended it. */
  onError(error: Error): void
}

/** Watches one directory, not files: a watch on a file is deaf after the first atomic rename of it. Closed by its owner. */
export class DirectorySignal {
  #watcher: FSWatcher | undefined

  constructor(directory: string, listener: DirectorySignalListener) {
    try {
      this.#watcher = watch(directory, { persistent: false }, (kind, name) => {
        if (this.#watcher !== undefined) listener.onEvent({ kind, name: name ?? undefined })
      })
      this.#watcher.on('error', (error) => listener.onError(error))
    } catch (error) {
      listener.onError(error as Error)
    }
  }

  /** No event comes afterwards. */
  close(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }
}
