// From the main file's path to the configuration, with every mistake of every file told at once. A mistake inside one
// site takes that site alone; the caller decides what serves in its place. Certificates and keys are only named here.

import { dirname, resolve } from 'node:path'
import { type AddressSets, readAddressSets, toListenerAddresses } from './address-sets.js'
import { checkIncludes, checkListeners, sketchListeners } from './check.js'
import { checkUpstreams, upstreamNames } from './check-upstreams.js'
import type { CertificateFiles, Config, VhostConfig } from './config.js'
import type { ConfigError } from './config-error.js'
import { type Files, readText } from './files.js'
import type { HostHolders } from './host-conflicts.js'
import { type ReadFile, readIncluded, upstreamPlaces } from './included-sites.js'
import { LoadMemory } from './load-memory.js'
import { isWithin, locate, type Mistake } from './mistake.js'
import type { ParseResult, Source } from './parse.js'
import { printable } from './printable.js'
import { type MainInput, mainSchema } from './schema.js'
import { listenerTlsSchema } from './schema-tls.js'
import { type BrokenSite, type ReadSite, readSite, type SiteContext, toCertificateFiles } from './site.js'
import { toUpstreams } from './upstream.js'
import { validate } from './validate.js'
import { isMap, listAt } from './value.js'

/** What the files mean, and what is wrong with them. */
export interface LoadedConfig {
  /** Undefined where `errors` has something: the whole is unusable then. */
  readonly config: Config | undefined
  /** Mistakes outside every site. */
  readonly errors: readonly ConfigError[]
  readonly brokenSites: readonly BrokenSite[]
  /** Every file that was read or tried, the main file first; absolute. */
  readonly files: readonly string[]
  /** Every directory whose listing mattered; absolute. */
  readonly directories: readonly string[]
}

/** Reads the main file and what it includes. Never throws for anything that stands in a file. */
export function loadConfig(mainFile: string, files: Files): LoadedConfig {
  const steps = loadSteps({ mainFile, files, memory: new LoadMemory() })
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** What a load in steps is made of. */
export interface LoadParts {
  readonly mainFile: string
  readonly files: Files
  /** What the load before this one has left. */
  readonly memory: LoadMemory
  /** Who serves a host; left out, the first one that claims it gets it. */
  readonly holders?: HostHolders | undefined
  /**
   * Hears of each pair of a sound site as soon as its file has been judged, long before the load is over; another site may
   * still turn out to have its names. Not of files that are as they were.
   */
  readonly onPair?: PairListener | undefined
}

type PairListener = (pair: CertificateFiles) => void

/** The same in steps of a millisecond or so, between which the caller may do other things. */
export function* loadSteps({ mainFile, files, memory, holders, onPair }: LoadParts): Generator<void, LoadedConfig> {
  const file = resolve(mainFile)
  const texts = memory.startLoad(files)
  const text = readText(file, files)
  const own = 'value' in text ? memory.parse(file, text.value) : { errors: [unreadable(file, text.reason)] }
  if ('errors' in own) return { config: undefined, errors: own.errors, brokenSites: [], files: [file], directories: [] }
  const { source } = own
  const upstreams = new Set(upstreamNames(source.value))
  const sets = readAddressSets(source, texts)
  const listeners = sketchListeners(source.value)
  const context = memory.context({ listeners, upstreams, addressSets: sets.names, texts })
  const included = memory.included(source, files)
  const others = [...included.mistakes, ...checkUpstreams(source.value, { file, texts })]
  const main = validateMain(source, sets, others)
  const told = main.output === undefined ? undefined : onPair
  const taken = new Map(upstreamPlaces(source))
  yield
  const mainFileKey = { path: file, parsed: own, context, taken: new Map() }
  const parts = [memory.judge(mainFileKey, () => tellPairs(readMain(source, context), told))]
  for (const { path, index } of included.files) {
    yield
    const text = readText(path, files)
    const parsed =
      'value' in text ? memory.parse(path, text.value) : unreadableInclude({ path, index, reason: text.reason }, source)
    const key = { path, parsed, context, taken }
    parts.push(memory.judge(key, () => tellPairs(readIncluded(key), told)))
  }
  const read: ReadSite[] = []
  for (const part of parts) read.push(...part.sites)
  const conflicts = yield* memory.conflicts.errorsAmong(read, holders)
  const sites = conflicts.size === 0 ? read : read.map((site) => withErrors(site, conflicts.get(site) ?? []))
  const config = main.output && (yield* toConfig(main.output, { source, sets, sites, parts, memory }))
  memory.endLoad()
  return {
    config,
    errors: main.errors,
    brokenSites: sites.filter(({ errors }) => errors.length > 0).map(toBrokenSite),
    files: [file, ...included.files.map(({ path }) => path), ...texts.paths],
    directories: included.directories,
  }
}

function tellPairs(part: ReadFile, told: PairListener | undefined): ReadFile {
  if (told === undefined) return part
  for (const { errors, certificates } of part.sites) {
    if (errors.length === 0) for (const pair of certificates) told(pair)
  }
  return part
}

function unreadable(file: string, reason: string): ConfigError {
  const message = `the configuration cannot be read: ${reason}`
  return { file, line: 1, column: 1, message, hint: 'name another file with -c' }
}

interface ValidMain {
  readonly output: MainInput | undefined
  readonly errors: readonly ConfigError[]
}

// Without its sites: each is judged alone, or one mistake would take all.
function validateMain(source: Source, sets: AddressSets, otherMistakes: readonly Mistake[]): ValidMain {
  const { value } = source
  const hasSites = isMap(value) && Array.isArray(value['vhosts'])
  const { output, mistakes } = validate(mainSchema, hasSites ? { ...value, vhosts: [] } : value, 'a configuration')
  const unreadable = source.mistakes.filter(({ path }) => path[0] !== 'vhosts' || path.length < 2)
  const found = [
    ...mistakes,
    ...checkListeners(value, sets.names),
    ...sets.mistakes,
    ...checkIncludes(value),
    ...otherMistakes,
  ]
  const others = found.filter((mistake) => !unreadable.some((cause) => isWithin(mistake.path, cause.path)))
  const errors = [...[...unreadable, ...others].map((mistake) => locate(mistake, source)).sort(byPlace), ...sets.errors]
  return { output: errors.length === 0 ? output : undefined, errors }
}

function readMain(source: Source, context: SiteContext): ReadFile {
  const sites = listAt(source.value, 'vhosts').map((_, index) => {
    return readSite({ source, path: ['vhosts', index], index }, context)
  })
  const file = { source, texts: context.texts }
  const names = upstreamPlaces(source)
  return { sites, names, isRobbed: false, upstreams: (main) => toUpstreams(main.upstreams, file, main) }
}

interface UnreadableInclude {
  readonly path: string
  /** Of the entry of the main file's `include` that names it. */
  readonly index: number
  readonly reason: string
}

function unreadableInclude({ path, index, reason }: UnreadableInclude, main: Source): ParseResult {
  const message = `the included file ${printable(path)} cannot be read: ${reason}`
  return { errors: [{ ...main.place(['include', index], 'value'), message }] }
}

function withErrors(site: ReadSite, conflicts: readonly ConfigError[]): ReadSite {
  return conflicts.length === 0 ? site : { ...site, errors: [...site.errors, ...conflicts] }
}

function toBrokenSite({ file, index, claims, errors }: ReadSite): BrokenSite {
  return { file, index, hosts: [...new Set(claims.map(({ host }) => host))], errors: [...errors].sort(byPlace) }
}

interface Parts {
  readonly source: Source
  readonly sets: AddressSets
  readonly sites: readonly ReadSite[]
  /** The main file and the included ones. */
  readonly parts: readonly ReadFile[]
  readonly memory: LoadMemory
}

const buildsAStep = 50

function* toConfig(main: MainInput, { source, sets, sites, parts, memory }: Parts): Generator<void, Config> {
  const { fallbackCertificate: fallback, log } = main
  const inherited = memory.inherit({ main: { ...main, vhosts: [] }, addressSets: sets.byName }, parts)
  const vhosts: VhostConfig[] = []
  for (const [index, site] of sites.entries()) {
    if (index % buildsAStep === 0) yield
    const { errors, build } = site
    if (errors.length === 0 && build) vhosts.push(memory.vhost(site, () => build({ ...main, ...inherited })))
  }
  return {
    listeners: main.listeners.map((listener, index) => ({
      ...listener,
      tls: listener.tls !== false,
      tlsSettings: typeof listener.tls === 'boolean' ? listenerTlsSchema.parse({}) : listener.tls,
      http2: listener.tls !== false && listener.http2,
      ...toListenerAddresses(listener, {
        sets: sets.byName,
        placeOf: (key) => source.place(['listeners', index, key], 'key'),
      }),
      place: source.place(['listeners', index], 'value'),
    })),
    addressSets: sets.byName,
    fallbackCertificate: fallback && toCertificateFiles(fallback, source, ['fallbackCertificate']),
    vhosts,
    upstreams: new Map(inherited.named.map((upstream) => [upstream.name, upstream])),
    reload: main.reload,
    timeouts: main.timeouts,
    limits: main.limits,
    log: {
      ...log,
      file: log.file === null ? null : resolve(dirname(source.file), log.file),
      place: source.place(['log', 'file'], 'value'),
    },
  }
}

function byPlace(left: ConfigError, right: ConfigError): number {
  return left.line - right.line || left.column - right.column
}
