// What one load of the configuration leaves to the next: files that are as they were are neither parsed nor judged
// again, and what they mean stays the same object. Used by load.ts; holds nothing of files that have gone.

import { isDeepStrictEqual } from 'node:util'
import type { VhostConfig } from './config.js'
import type { Place } from './config-error.js'
import type { Files } from './files.js'
import type { ReadFile } from './included-sites.js'
import { type ParseResult, parseYaml } from './parse.js'
import type { MainInput } from './schema.js'
import type { ReadSite, SiteContext } from './site.js'
import { type AskedTexts, Texts } from './texts.js'
import type { UpstreamConfig } from './upstream-config.js'
import { UpstreamDirectory } from './upstream-directory.js'

interface ParsedFile {
  readonly text: string
  readonly parsed: ParseResult
}

interface JudgedFile {
  readonly parsed: ParseResult
  readonly context: SiteContext
  readonly asked: AskedTexts
  readonly read: ReadFile
}

interface BuiltUpstreams {
  readonly result: readonly UpstreamConfig[]
  readonly asked: AskedTexts
}

/** Of the sites of a load, what they inherit. */
interface Inheritance {
  readonly main: MainInput
  readonly named: readonly UpstreamConfig[]
  readonly upstreams: UpstreamDirectory
}

/** The memory of one configuration. */
export class LoadMemory {
  readonly #texts = new Texts({ read: unread, list: unread })
  #parsed = new Map<string, ParsedFile>()
  #parsedBefore = this.#parsed
  #judged = new Map<string, JudgedFile>()
  #judgedBefore = this.#judged
  #context: SiteContext | undefined
  #inheritance: Inheritance | undefined
  #upstreams = new WeakMap<ReadFile, BuiltUpstreams>()
  #vhosts = new WeakMap<ReadSite, VhostConfig>()

  /** Another load begins: what it does not ask for is forgotten at its end. */
  startLoad(files: Files): Texts {
    this.#texts.startLoad(files)
    this.#parsedBefore = this.#parsed
    this.#parsed = new Map()
    this.#judgedBefore = this.#judged
    this.#judged = new Map()
    return this.#texts
  }

  /** Parses a text unless it is what the file had last time. */
  parse(file: string, text: string): ParseResult {
    const before = this.#parsedBefore.get(file)
    const now = before?.text === text ? before : { text, parsed: parseYaml(file, text) }
    this.#parsed.set(file, now)
    return now.parsed
  }

  /** What sites may refer to; the same object as long as it says the same. */
  context(context: SiteContext): SiteContext {
    const before = this.#context
    this.#context = before !== undefined && isDeepStrictEqual(before, context) ? before : context
    return this.#context
  }

  /** Judges a file unless nothing has changed that its judgement hangs on; `taken` gets the names of its upstreams. */
  judge(file: JudgedKey, judge: () => ReadFile): ReadFile {
    const { path, parsed, context, taken } = file
    const before = this.#judgedBefore.get(path)
    if (before !== undefined && before.parsed === parsed && before.context === context && this.#holds(before, taken)) {
      for (const [name, place] of before.read.names) taken.set(name, place)
      this.#judged.set(path, before)
      return before.read
    }
    const { result: read, asked } = this.#texts.during(judge)
    this.#judged.set(path, { parsed, context, asked, read })
    return read
  }

  #holds({ read, asked }: JudgedFile, taken: ReadonlyMap<string, Place>): boolean {
    if (read.isRobbed || !this.#texts.areStill(asked)) return false
    for (const name of read.names.keys()) if (taken.has(name)) return false
    return true
  }

  /** What all sites of this load inherit; what they were built into counts no more where that has changed. */
  inherit(main: MainInput, files: readonly ReadFile[]): UpstreamDirectory {
    const before = this.#inheritance
    const isSame = before !== undefined && isDeepStrictEqual(before.main, main)
    if (!isSame) this.#upstreams = new WeakMap()
    const kept = isSame ? before.main : main
    const named = files.flatMap((file) => this.#upstreamsOf(file, kept))
    const isKept = isSame && isSameList(named, before.named)
    if (!isKept) this.#vhosts = new WeakMap()
    const upstreams = new UpstreamDirectory(named, kept, isKept ? before.upstreams : undefined)
    this.#inheritance = { main: kept, named, upstreams }
    return upstreams
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
    if (before !== undefined) {
      this.#inheritance?.upstreams.adopt(before)
      return before
    }
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

function unread(): never {
  throw new Error('a load names what it reads with')
}
