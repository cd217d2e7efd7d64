// What one load of the configuration leaves to the next: files that are as they were are neither parsed nor judged
// again, and what they mean stays the same object. Used by load.ts; holds nothing of files that have gone.

import { isDeepStrictEqual } from 'node:util'
import type { VhostConfig } from './config.js'
import type { Place } from './config-error.js'
import { type Files, listNames } from './files.js'
import { HostConflicts } from './host-conflicts.js'
import { findIncluded, type Included } from './include.js'
import type { ReadFile } from './included-sites.js'
import { type ParseResult, parseYaml, type Source } from './parse.js'
import type { MainInput } from './schema.js'
import type { ReadSite, SiteContext, SiteDefaults } from './site.js'
import { type AskedTexts, Texts } from './texts.js'
import type { UpstreamConfig } from './upstream-config.js'
import { UpstreamDirectory } from './upstream-directory.js'

interface RememberedFile {
  readonly text: string
  readonly parsed: ParseResult
  judgement: Judgement | undefined
  /** The load that has asked for it last. */
  load: number
}

interface Judgement {
  readonly context: SiteContext
  readonly asked: AskedTexts
  readonly read: ReadFile
}

interface Inclusion {
  readonly source: Source
  readonly listings: ReadonlyMap<string, readonly string[]>
  readonly included: Included
}

interface BuiltUpstreams {
  readonly result: readonly UpstreamConfig[]
  readonly asked: AskedTexts
}

/** Of the sites of a load, what they inherit. */
interface Inheritance extends Inherited {
  readonly main: MainInput
}

/** What sites inherit beside what stands in the main file. */
export interface Inherited extends Pick<SiteDefaults, 'upstreams' | 'addressSets'> {
  /** The upstreams that have a name. */
  readonly named: readonly UpstreamConfig[]
}

type AddressSetsByName = Inherited['addressSets']

/** The memory of one configuration. */
export class LoadMemory {
  readonly conflicts = new HostConflicts<ReadSite>()
  readonly #texts = new Texts({ read: unread, list: unread })
  readonly #remembered = new Map<string, RememberedFile>()
  #load = 0
  #asked = 0
  #inclusion: Inclusion | undefined
  #context: SiteContext | undefined
  #inheritance: Inheritance | undefined
  #upstreams = new WeakMap<ReadFile, BuiltUpstreams>()
  #vhosts = new WeakMap<ReadSite, VhostConfig>()

  /** Another load begins. */
  startLoad(files: Files): Texts {
    this.#texts.startLoad(files)
    this.#load += 1
    this.#asked = 0
    return this.#texts
  }

  /** The load ends: what it has not asked for is forgotten. */
  endLoad(): void {
    if (this.#asked === this.#remembered.size) return
    for (const [path, { load }] of this.#remembered) if (load !== this.#load) this.#remembered.delete(path)
  }

  /** Parses a text unless it is what the file had last time. */
  parse(file: string, text: string): ParseResult {
    const before = this.#remembered.get(file)
    const isSame = before?.text === text
    const now = isSame ? before : { text, parsed: parseYaml(file, text), judgement: undefined, load: 0 }
    if (!isSame) this.#remembered.set(file, now)
    if (now.load !== this.#load) this.#asked += 1
    now.load = this.#load
    return now.parsed
  }

  /** Which files the main file includes; found anew where it or a directory has changed. */
  included(source: Source, files: Files): Included {
    const before = this.#inclusion
    if (before !== undefined && before.source === source && areStill(before.listings, files)) return before.included
    const listings = new Map<string, readonly string[]>()
    const list = (directory: string): readonly string[] => {
      const names = files.list(directory)
      listings.set(directory, names)
      return names
    }
    const included = findIncluded(source.value, source.file, { read: (path) => files.read(path), list })
    this.#inclusion = included.mistakes.length === 0 ? { source, listings, included } : undefined
    return included
  }

  /** What sites may refer to; the same object as long as it says the same. */
  context(context: SiteContext): SiteContext {
    const before = this.#context
    this.#context = before !== undefined && isDeepStrictEqual(before, context) ? before : context
    return this.#context
  }

  /** Judges a file unless nothing has changed that its judgement hangs on; `taken` gets the names of its upstreams. */
  judge({ path, parsed, context, taken }: JudgedKey, judge: () => ReadFile): ReadFile {
    const remembered = this.#remembered.get(path)
    const isSame = remembered?.parsed === parsed
    const before = isSame ? remembered.judgement : undefined
    if (before !== undefined && before.context === context && this.#holds(before, taken)) {
      if (before.read.names.size > 0) for (const [name, place] of before.read.names) taken.set(name, place)
      return before.read
    }
    const { result: read, asked } = this.#texts.during(judge)
    if (isSame) remembered.judgement = { context, asked, read }
    return read
  }

  #holds({ read, asked }: Judgement, taken: ReadonlyMap<string, Place>): boolean {
    if (read.isRobbed || (asked.size > 0 && !this.#texts.areStill(asked))) return false
    if (read.names.size > 0) for (const name of read.names.keys()) if (taken.has(name)) return false
    return true
  }

  /** What all sites of this load inherit; what they were built into counts no more where that has changed. */
  inherit(
    { main, addressSets }: { readonly main: MainInput; readonly addressSets: AddressSetsByName },
    files: readonly ReadFile[],
  ): Inherited {
    const before = this.#inheritance
    const isSame = before !== undefined && isDeepStrictEqual(before.main, main)
    if (!isSame) this.#upstreams = new WeakMap()
    const kept = isSame ? before.main : main
    const named = files.flatMap((file) => this.#upstreamsOf(file, kept))
    const isKept = isSame && isSameList(named, before.named) && isSameSets(addressSets, before.addressSets)
    if (!isKept) this.#vhosts = new WeakMap()
    const upstreams = new UpstreamDirectory(named, kept)
    this.#inheritance = { main: kept, named, upstreams, addressSets: isKept ? before.addressSets : addressSets }
    return this.#inheritance
  }

  #upstreamsOf(file: ReadFile, main: MainInput): readonly UpstreamConfig[] {
    if (file.names.size === 0) return []
    const before = this.#upstreams.get(file)
    if (before !== undefined && this.#texts.areStill(before.asked)) return before.result
    const built = this.#texts.during(() => file.upstreams(main))
    this.#upstreams.set(file, built)
    return built.result
  }

  /** Builds a sound site unless it has been built of the same things. */
  vhost(site: ReadSite, build: () => VhostConfig): VhostConfig {
    const before = this.#vhosts.get(site)
    if (before !== undefined) return before
    const vhost = build()
    this.#vhosts.set(site, vhost)
    return vhost
  }
}

/** What the judgement of a file hangs on. */
export interface JudgedKey {
  readonly path: string
  readonly parsed: ParseResult
  readonly context: SiteContext
  readonly taken: Map<string, Place>
}

function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index])
}

function areStill(listings: ReadonlyMap<string, readonly string[]>, files: Files): boolean {
  for (const [directory, names] of listings) {
    const listed = listNames(directory, files)
    if (!('value' in listed) || listed.value !== names) return false
  }
  return true
}

// What a set holds is in its file, which has a hash.
function isSameSets(left: AddressSetsByName, right: AddressSetsByName): boolean {
  if (left.size !== right.size) return false
  for (const [name, { hash, path }] of left) {
    const other = right.get(name)
    if (other?.hash !== hash || other.path !== path) return false
  }
  return true
}

function unread(): never {
  throw new Error('a load names what it reads with')
}
