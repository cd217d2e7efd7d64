// Reads configuration files and remembers what it has read, so that a load reads again only what has changed since, and
// the watch misses no change between the reading and the watching. Outlives loads; made for one configuration.
import { readFileSync } from 'node:fs'
import type { Files } from '../config/files.js'
import { type FileVersion, namesIn, readNow } from '../files/file-content.js'
import { isUnchanged } from '../files/file-identity.js'

interface Reading<Content> {
  readonly content: Content
  readonly version: FileVersion
}

/** The disk as loads of the configuration see it. */
export class Disk implements Files {
  #before = new Map<string, Reading<unknown>>()
  #now = new Map<string, Reading<unknown>>()
  #changed: ReadonlySet<string> | 'all' = 'all'
  readonly #versions = new Map<string, FileVersion>()

  /** Another load begins; files that have not changed are not read for it. Which have is asked of the disk for `all`. */
  startLoad(changed: ReadonlySet<string> | 'all'): void {
    this.#before = this.#now
    this.#now = new Map()
    this.#changed = changed
    this.#versions.clear()
  }

  /** What this load has read or tried; without a hash where that failed. */
  get versions(): ReadonlyMap<string, FileVersion> {
    return this.#versions
  }

  read(path: string): string {
    return this.#get(path, () => readText(path))
  }

  list(directory: string): readonly string[] {
    return this.#get(directory, () => readNames(directory))
  }

  #get<Content>(path: string, read: () => Reading<Content>): Content {
    const known = (this.#now.get(path) ?? this.#unchanged(path)) as Reading<Content> | undefined
    if (known === undefined) this.#versions.set(path, { identity: undefined, hash: undefined })
    const reading = known ?? read()
    this.#now.set(path, reading)
    this.#versions.set(path, reading.version)
    return reading.content
  }

  #unchanged(path: string): Reading<unknown> | undefined {
    const before = this.#before.get(path)
    if (before === undefined) return undefined
    if (this.#changed !== 'all') return this.#changed.has(path) ? undefined : before
    const { identity } = before.version
    return identity !== undefined && isUnchanged(path, identity) ? before : undefined
  }
}

function readText(path: string): Reading<string> {
  const { content, version } = readNow(path, (file) => readFileSync(file))
  return { content: content.toString('utf8'), version }
}

function readNames(directory: string): Reading<readonly string[]> {
  const { content, version } = readNow(directory, namesIn)
  return { content: content === '' ? [] : content.split('\0'), version }
}
