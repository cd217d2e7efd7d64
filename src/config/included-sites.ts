// The sites of one included file, and the upstreams that are theirs alone. A file that cannot be used as a whole is one
// broken site with all its names, so that nobody else can take them in the meantime. Used by load.ts.

import { servingListeners } from './check.js'
import { checkUpstreams, upstreamNames } from './check-upstreams.js'
import type { ConfigError, Place } from './config-error.js'
import { isWithin, locate, type Mistake, rebase } from './mistake.js'
import type { ParseResult, Source } from './parse.js'
import { shown } from './printable.js'
import type { MainInput } from './schema.js'
import { upstreamsSchema } from './schema-upstream.js'
import { type ReadSite, readClaims, readSite, type SiteContext } from './site.js'
import { toUpstreams } from './upstream.js'
import type { UpstreamConfig } from './upstream-config.js'
import { validate } from './validate.js'
import { isMap, listAt, type Path, type ValueMap } from './value.js'

/** An included file, and what it is read with. */
export interface IncludedFile {
  readonly path: string
  readonly parsed: ParseResult
  readonly context: SiteContext
  /** The names of upstreams that files before it have taken; its own are added. */
  readonly taken: Map<string, Place>
}

/** What an included file has. */
export interface ReadFile {
  readonly sites: readonly ReadSite[]
  /** None where a mistake is in one of them. */
  readonly upstreams: (main: MainInput) => readonly UpstreamConfig[]
  /** Its upstreams by name. */
  readonly names: ReadonlyMap<string, Place>
  /** Whether another file's names have spoilt it. */
  readonly isRobbed: boolean
}

/** Reads an included file: one site, or a list of them under `vhosts`; beside either `upstreams` of their own. */
export function readIncluded(included: IncludedFile): ReadFile {
  const { path: file, parsed, context, taken } = included
  if ('errors' in parsed) return brokenFile({ file, context, errors: parsed.errors })
  const { source } = parsed
  const robberies = checkTaken(source, taken)
  const { output = {}, mistakes } = readUpstreams(source, context)
  const found = [...checkFile(source), ...mistakes, ...unlessWithin(source.mistakes, robberies)]
  const isRobbed = robberies.length > 0
  if (found.length > 0) {
    const errors = found.map((mistake) => locate(mistake, source))
    return { ...brokenFile({ file, context, errors, source }), isRobbed }
  }
  const names = upstreamPlaces(source)
  const own = withNames(context, names)
  const sites = sitePaths(source.value).map((path, index) => readSite({ source: siteSource(source), path, index }, own))
  return { sites, names, isRobbed, upstreams: (main) => toUpstreams(output, { source, texts: context.texts }, main) }
}

/** The names of the upstreams of a file, with their places. */
export function upstreamPlaces(source: Source): ReadonlyMap<string, Place> {
  const names = upstreamNames(source.value)
  return names.length === 0 ? noNames : new Map(names.map((name) => [name, source.place(['upstreams', name], 'key')]))
}

const noNames: ReadonlyMap<string, Place> = new Map()

function isOneSite(value: unknown): value is ValueMap {
  return isMap(value) && !('vhosts' in value)
}

function sitePaths(value: unknown): readonly Path[] {
  return isOneSite(value) ? [[]] : listAt(value, 'vhosts').map((_, index) => ['vhosts', index])
}

// Of a file that is one site, the upstreams are no part of the site.
function siteSource(source: Source): Source {
  if (!isOneSite(source.value) || !('upstreams' in source.value)) return source
  const { upstreams: _, ...site } = source.value
  return { ...source, value: site }
}

function withNames(context: SiteContext, names: ReadonlyMap<string, Place>): SiteContext {
  return names.size === 0 ? context : { ...context, upstreams: new Set([...context.upstreams, ...names.keys()]) }
}

interface BrokenFile {
  readonly file: string
  readonly context: SiteContext
  readonly errors: readonly ConfigError[]
  readonly source?: Source
}

function brokenFile({ file, context, errors, source }: BrokenFile): ReadFile {
  const paths = source === undefined ? [] : sitePaths(source.value)
  const claims = paths.flatMap((path) => (source === undefined ? [] : readClaims({ source, path })))
  const listeners = servingListeners(undefined, context.listeners)
  const sites = [{ file, index: undefined, claims, listeners, errors, certificates: [], build: undefined }]
  const names = source === undefined ? noNames : upstreamPlaces(source)
  return { sites, upstreams: () => [], names, isRobbed: false }
}

function readUpstreams({ file, value, mistakes: unreadable }: Source, { texts }: SiteContext) {
  if (!isMap(value) || !('upstreams' in value)) return { output: {}, mistakes: [] }
  const { output, mistakes } = validate(upstreamsSchema, value['upstreams'], 'upstreams')
  const found = [...rebase(['upstreams'], mistakes), ...checkUpstreams(value, { file, texts })]
  return { output, mistakes: unlessWithin(unreadable, found) }
}

function unlessWithin(causes: readonly Mistake[], mistakes: readonly Mistake[]): readonly Mistake[] {
  return mistakes.filter(({ path }) => !causes.some((cause) => isWithin(path, cause.path)))
}

// The log and the metrics know upstreams by their names alone.
function checkTaken(source: Source, taken: Map<string, Place>): readonly Mistake[] {
  return upstreamNames(source.value).flatMap((name): readonly Mistake[] => {
    const path = ['upstreams', name]
    const owner = taken.get(name)
    if (owner === undefined) {
      taken.set(name, source.place(path, 'key'))
      return []
    }
    const message = `upstream ${shown(name)} is taken by ${owner.file}:${owner.line}:${owner.column}`
    return [{ path, aim: 'key', message, hint: 'rename one of the two' }]
  })
}

const fileHint = 'an included file has one site or a list under vhosts, and no more than upstreams beside'

function checkFile({ value, mistakes }: Source): readonly Mistake[] {
  if (!isMap(value)) return [{ path: [], aim: 'value', message: 'an included file must be a map', hint: fileHint }]
  const outside = mistakes.filter(({ path }) => path[0] === 'upstreams' || isOutside(path, value))
  if (isOneSite(value)) return outside
  const strangers = Object.keys(value).filter((key) => key !== 'vhosts' && key !== 'upstreams')
  const unknown = strangers.map((key): Mistake => {
    return { path: [key], aim: 'key', message: `unknown key ${shown(key)} beside vhosts`, hint: fileHint }
  })
  const isList = Array.isArray(value['vhosts']) || outside.length > 0
  return [...outside, ...unknown, ...(isList ? [] : [noList])]
}

/** Whether a path leads to none of the file's sites. */
function isOutside(path: Path, value: ValueMap): boolean {
  return !isOneSite(value) && (path[0] !== 'vhosts' || path.length < 2)
}

const noList: Mistake = { path: ['vhosts'], aim: 'value', message: 'vhosts must be a list' }
