// The files of a watch, each once however many use it. Used by FileWatch; costs no more than what a reload changes.
import { differenceOf } from './difference.js'
import type { FileVersion } from './file-content.js'
import { WatchedFile } from './watched-file.js'

/** A file, or a directory, that somebody uses in the version that he has read. The same object as long as he uses that. */
export interface FileUse {
  readonly path: string
  readonly version: FileVersion
}

/** What another set of uses means for the files. */
export interface SetChange {
  /** What must be looked at: new, or used in another version than before. */
  readonly fresh: readonly WatchedFile[]
  /** What is watched no more. */
  readonly dropped: readonly WatchedFile[]
}

/** Two users have read different things at one path: whatever is there, one of them must read again. */
const contradiction: FileVersion = { identity: undefined, hash: 'read twice, differently' }

/** The files in use. */
export class WatchedSet {
  readonly #files = new Map<string, WatchedFile>()
  #uses: readonly FileUse[] = []

  /** Exactly these are used from now on. */
  set(uses: readonly FileUse[]): SetChange {
    const { gone, come } = differenceOf(this.#uses, uses)
    this.#uses = uses
    for (const { path } of gone) this.#of(path).users -= 1
    const dropped: WatchedFile[] = []
    const fresh = new Set<WatchedFile>()
    for (const use of come) {
      const before = this.#files.get(use.path)
      const file = this.#use(use, before)
      if (file === before) continue
      this.#files.set(use.path, file)
      fresh.add(file)
      if (before === undefined) continue
      fresh.delete(before)
      dropped.push(before)
    }
    for (const { path } of gone) {
      const file = this.#files.get(path)
      if (file === undefined || file.users > 0) continue
      this.#files.delete(path)
      dropped.push(file)
    }
    return { fresh: [...fresh], dropped }
  }

  /** Whether this is what is watched at its path now. */
  has(file: WatchedFile): boolean {
    return this.#files.get(file.path) === file
  }

  values(): IterableIterator<WatchedFile> {
    return this.#files.values()
  }

  get size(): number {
    return this.#files.size
  }

  #of(path: string): WatchedFile {
    return this.#files.get(path) as WatchedFile
  }

  #use({ path, version }: FileUse, before: WatchedFile | undefined): WatchedFile {
    const others = before?.users ?? 0
    const isAgreed = others === 0 || before?.given.hash === version.hash
    const isKept = before !== undefined && (others === 0 ? before.given === version : isAgreed)
    const file = isKept ? before : new WatchedFile(path, isAgreed ? version : contradiction)
    file.users = others + 1
    return file
  }
}
