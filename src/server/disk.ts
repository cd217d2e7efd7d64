// Reads configuration files and remembers what it has read, so that a load reads again only what has changed since, and
// the watch misses no change between the reading and the watching. Outlives loads; made for one configuration.
import { readFileSync } from 'node:fs'
import type { Files } from '../config/files.js'
import { type FileVersion, namesIn, readNow } from '../files/file-content.js'
import { isUnchanged } from '../files/file-identity.js'
import type { FileUse } from '../files/watched-set.js'

interface Reading<Content> extends FileUse {
  readonly content: Content
}

/** The disk as loads of the configuration see it. */
export class Disk implements Files {
  readonly #readings = new Map<string, Reading<unknown>>()
  /** What could not be read in this load. */
  readonly #failures = new Map<string, FileUse>()
  /** What may have changed since it was read; undefined where the watch tells. */
  #doubted: Set<string> | undefined

  /** Another load begins; files that have not changed are not read for it. Which have is asked of the disk for `all`. */
  startLoad(changed: ReadonlySet<string> | 'all'): void {
    this.#failures.clear()
    this.#doubted = changed === 'all' ? new Set(this.#readings.keys()) : undefined
    if (changed !== 'all') for (const path of changed) this.#readings.delete(path)
  }

  /** What loads have read, and what the last one has tried; without a hash where that failed. */
  get uses(): readonly FileUse[] {
    return [...this.#readings.values(), ...this.#failures.values()]
  }

  /** Forgets what is none of these. */
  retain(paths: readonly string[]): void {
    if (this.#readings.size + this.#failures.size <= paths.length) return
    const kept = new Set(paths)
    for (const path of this.#readings.keys()) if (!kept.has(path)) this.#readings.delete(path)
  }

  read(path: string): string {
    return this.#get(path, readText)
  }

  list(directory: string): readonly string[] {
    return this.#get(directory, readNames)
  }

  #get<Content>(path: string, read: (path: string) => Reading<Content>): Content {
    const known = this.#readings.get(path) as Reading<Content> | undefined
    if (known !== undefined && !this.#hasChanged(path, known.version)) return known.content
    this.#readings.delete(path)
    this.#failures.set(path, { path, version: unread })
    const reading = read(path)
    this.#failures.delete(path)
    this.#readings.set(path, reading)
    return reading.content
  }

  #hasChanged(path: string, { identity }: FileVersion): boolean {
    if (this.#doubted === undefined || !this.#doubted.delete(path)) return false
    return identity === undefined || !isUnchanged(path, identity)
  }
}

const unread: FileVersion = { identity: undefined, hash: undefined }

function readText(path: string): Reading<string> {
  const { content, version } = readNow(path, (file) => readFileSync(file))
  return { path, content: content.toString('utf8'), version }
}

function readNames(directory: string): Reading<readonly string[]> {
  const { content, version } = readNow(directory, namesIn)
  return { path: directory, content: content === '' ? [] : content.split('\0'), version }
}
