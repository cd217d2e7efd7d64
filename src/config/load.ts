// From the main file's path to the configuration, with every mistake of every file told at once. A mistake inside one
// site takes that site alone; the caller decides what serves in its place. Certificates and keys are only named here.

import { dirname, resolve } from 'node:path'
import { type AddressSets, readAddressSets, toListenerAddresses } from './address-sets.js'
import { checkIncludes, checkListeners, sketchListeners } from './check.js'
import { checkUpstreams, upstreamNames } from './check-upstreams.js'
import type { Config, VhostConfig } from './config.js'
import type { ConfigError, Place } from './config-error.js'
import { type Files, readText } from './files.js'
import { hostConflicts } from './host-conflicts.js'
import { findIncluded } from './include.js'
import { type ReadFile, readIncluded } from './included-sites.js'
import { isWithin, locate, type Mistake } from './mistake.js'
import { type Parse, parseYaml, type Source } from './parse.js'
import { type MainInput, mainSchema } from './schema.js'
import { listenerTlsSchema } from './schema-tls.js'
import {
  type BrokenSite,
  type ReadSite,
  readSite,
  type SiteContext,
  type SiteDefaults,
  toCertificateFiles,
} from './site.js'
import { Texts } from './texts.js'
import { toUpstreams } from './upstream.js'
import { UpstreamDirectory } from './upstream-directory.js'
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
export function loadConfig(mainFile: string, files: Files, parse: Parse = parseYaml): LoadedConfig {
  const file = resolve(mainFile)
  const text = readText(file, files)
  const read = 'value' in text ? parse(file, text.value) : { errors: [unreadable(file, text.reason)] }
  if ('errors' in read)
    return { config: undefined, errors: read.errors, brokenSites: [], files: [file], directories: [] }
  const { source } = read
  const texts = new Texts(files)
  const sets = readAddressSets(source, texts)
  const context = {
    listeners: sketchListeners(source.value),
    upstreams: new Set(upstreamNames(source.value)),
    addressSets: sets.names,
    texts,
  }
  const included = findIncluded(source.value, file, files)
  const others = [...included.mistakes, ...checkUpstreams(source.value, { file, texts })]
  const main = validateMain(source, sets, others)
  const taken = takenNames(source)
  const parts = included.files.map((each) => readIncluded({ ...each, main: source, files, parse, context, taken }))
  const sites = withConflicts([...readMainSites(source, context), ...parts.flatMap((part) => part.sites)])
  return {
    config: main.output && toConfig(main.output, { source, texts, sets, sites, parts }),
    errors: main.errors,
    brokenSites: sites.filter(({ errors }) => errors.length > 0).map(toBrokenSite),
    files: [file, ...included.files.map(({ path }) => path), ...texts.paths],
    directories: included.directories,
  }
}

function takenNames(source: Source): Map<string, Place> {
  return new Map(upstreamNames(source.value).map((name) => [name, source.place(['upstreams', name], 'key')]))
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

function readMainSites(source: Source, context: SiteContext): readonly ReadSite[] {
  return listAt(source.value, 'vhosts').map((_, index) => readSite({ source, path: ['vhosts', index], index }, context))
}

function withConflicts(sites: readonly ReadSite[]): readonly ReadSite[] {
  const conflicts = hostConflicts(sites)
  return sites.map((site, index) => ({ ...site, errors: [...site.errors, ...conflicts[index]].sort(byPlace) }))
}

function toBrokenSite({ file, index, claims, errors }: ReadSite): BrokenSite {
  return { file, index, hosts: [...new Set(claims.map(({ host }) => host))], errors }
}

interface Parts {
  readonly source: Source
  readonly texts: Texts
  readonly sets: AddressSets
  readonly sites: readonly ReadSite[]
  /** The included files. */
  readonly parts: readonly ReadFile[]
}

function toConfig(main: MainInput, { source, texts, sets, sites, parts }: Parts): Config {
  const { fallbackCertificate: fallback, log } = main
  const named = [
    ...toUpstreams(main.upstreams, { source, texts }, main),
    ...parts.flatMap(({ upstreams }) => upstreams(main)),
  ]
  const upstreams = new UpstreamDirectory(named, main)
  return {
    listeners: main.listeners.map((listener, index) => ({
      ...listener,
      tls: listener.tls !== false,
      tlsSettings: typeof listener.tls === 'boolean' ? listenerTlsSchema.parse({}) : listener.tls,
      http2: listener.tls !== false && listener.http2,
      ...toListenerAddresses(listener, sets.byName),
      place: source.place(['listeners', index], 'value'),
    })),
    addressSets: sets.byName,
    fallbackCertificate: fallback && toCertificateFiles(fallback, source, ['fallbackCertificate']),
    vhosts: sites.flatMap((site) => soundVhosts(site, { ...main, upstreams, addressSets: sets.byName })),
    upstreams: upstreams.all,
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

function soundVhosts({ errors, build }: ReadSite, main: SiteDefaults): readonly VhostConfig[] {
  return errors.length === 0 && build !== undefined ? [build(main)] : []
}

function byPlace(left: ConfigError, right: ConfigError): number {
  return left.line - right.line || left.column - right.column
}
