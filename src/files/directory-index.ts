// Which of the watched files an event in a directory may be about, so that one change among ten thousand files is looked
// at alone. Used by file-watch.ts. Each directory is watched once: that of a file, and that of what a link leads to.
import { basename, dirname, join } from 'node:path'
import { type DirectoryEvent, DirectorySignal } from './directory-signal.js'
import { type FileIdentity, readIdentityNow } from './file-identity.js'

/** A file as far as its place counts. */
export interface PlacedFile {
  readonly path: string
  /** What was last found there. */
  readonly seen: FileIdentity | undefined
}

/** What an index tells. */
export interface DirectoryIndexListener<File> {
  /** These may have changed. */
  onSignal(files: Iterable<File>): void
  onError(error: Error): void
}

/** Where a file is looked for: a name in a directory; of a directory that is watched itself, no name in it. */
interface Place {
  readonly directory: string
  readonly name: string
}

interface Directory<File> {
  identity: FileIdentity | undefined
  signal: DirectorySignal | undefined
  readonly byName: Map<string, Set<File>>
  /** Files that lead elsewhere, which any name that comes or goes may change. */
  readonly links: Set<File>
}

/** The directories of a changeable set of files. Closed by its owner. */
export class DirectoryIndex<File extends PlacedFile> {
  readonly #listener: DirectoryIndexListener<File>
  readonly #directories = new Map<string, Directory<File>>()
  #turn = 0
  readonly #places = new Map<File, readonly Place[]>()

  constructor(listener: DirectoryIndexListener<File>) {
    this.#listener = listener
  }

  /** Watches the directories of a file; of one that has moved those where it is now. */
  set(file: File): void {
    const places = placesOf(file)
    const before = this.#places.get(file)
    if (before !== undefined && isSamePlaces(before, places)) return
    this.delete(file)
    this.#places.set(file, places)
    for (const place of places) this.#add(place, file)
    if (this.#leadsElsewhere(file)) {
      for (const { directory } of places) this.#directories.get(directory)?.links.add(file)
    }
  }

  #leadsElsewhere({ path, seen }: File): boolean {
    if (seen === undefined || seen.realpath === path) return false
    const own = this.#directories.get(dirname(path))?.identity?.realpath
    return seen.realpath !== join(own ?? '', basename(path))
  }

  /** Watches what is left. */
  delete(file: File): void {
    for (const place of this.#places.get(file) ?? []) this.#remove(place, file)
    this.#places.delete(file)
  }

  /** Up to `count` directories, the next ones in turn, with what they were when they were put under watch. */
  directories(count: number): readonly { readonly path: string; readonly identity: FileIdentity | undefined }[] {
    const all = [...this.#directories]
    const first = all.length <= count ? 0 : this.#turn % all.length
    this.#turn = first + count
    return all.slice(first, first + count).map(([path, { identity }]) => ({ path, identity }))
  }

  /** Another directory stands at a path: it is watched instead; the files that were looked for in the one before it. */
  replace(path: string, identity: FileIdentity | undefined): Iterable<File> {
    const directory = this.#directories.get(path)
    if (directory === undefined) return []
    directory.signal?.close()
    directory.identity = identity
    directory.signal = this.#signalOf(path, directory)
    return filesIn(directory)
  }

  /** Ends all watches. */
  close(): void {
    for (const { signal } of this.#directories.values()) signal?.close()
    this.#directories.clear()
    this.#places.clear()
  }

  #add({ directory, name }: Place, file: File): void {
    const { byName } = this.#directoryOf(directory)
    const files = byName.get(name)
    if (files === undefined) byName.set(name, new Set([file]))
    else files.add(file)
  }

  #remove({ directory: path, name }: Place, file: File): void {
    const directory = this.#directories.get(path)
    if (directory === undefined) return
    const { byName, links, signal } = directory
    const files = byName.get(name)
    files?.delete(file)
    links.delete(file)
    if (files?.size === 0) byName.delete(name)
    if (byName.size > 0) return
    signal?.close()
    this.#directories.delete(path)
  }

  #directoryOf(path: string): Directory<File> {
    const known = this.#directories.get(path)
    if (known !== undefined) return known
    const identity = readIdentityNow(path)
    const directory: Directory<File> = { identity, signal: undefined, byName: new Map(), links: new Set() }
    this.#directories.set(path, directory)
    directory.signal = this.#signalOf(path, directory)
    return directory
  }

  #signalOf(path: string, directory: Directory<File>): DirectorySignal | undefined {
    if (directory.identity?.kind !== 'directory') return undefined
    return new DirectorySignal(path, {
      onEvent: (event) => this.#listener.onSignal(filesMeant(path, directory, event)),
      onError: (error) => this.#listener.onError(error),
    })
  }
}

/** The name of a directory itself stands for all that is in it: it has been moved away. */
function filesMeant<File>(path: string, directory: Directory<File>, { kind, name }: DirectoryEvent): Iterable<File> {
  if (name === undefined) return filesIn(directory)
  const named = directory.byName.get(name) ?? []
  if (kind === 'change') return named
  const listing = directory.byName.get('') ?? []
  return [...named, ...listing, ...directory.links, ...(name === basename(path) ? filesIn(directory) : [])]
}

function filesIn<File>({ byName }: Directory<File>): readonly File[] {
  return [...byName.values()].flatMap((files) => [...files])
}

function placesOf({ path, seen }: PlacedFile): readonly Place[] {
  const places = [placeOf(path)]
  if (seen === undefined) return places
  if (seen.realpath !== path) places.push(placeOf(seen.realpath))
  return seen.kind === 'directory' ? [...places, { directory: seen.realpath, name: '' }] : places
}

function placeOf(path: string): Place {
  return { directory: dirname(path), name: basename(path) }
}

function isSamePlaces(left: readonly Place[], right: readonly Place[]): boolean {
  if (left.length !== right.length) return false
  return left.every(({ directory, name }, index) => {
    return directory === right[index]?.directory && name === right[index]?.name
  })
}
