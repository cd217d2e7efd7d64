// The sites of one included file. A file that cannot be used as a whole is one broken site with all its names, so that
// nobody else can take them in the meantime. Used by load.ts.

import { type ListenerSketch, servingListeners } from './check.js'
import type { ConfigError } from './config-error.js'
import { type Files, readText } from './files.js'
import { locate, type Mistake } from './mistake.js'
import type { Parse, ParseResult, Source } from './parse.js'
import { printable, shown } from './printable.js'
import { type ReadSite, readClaims, readSite } from './site.js'
import { isMap, listAt } from './value.js'

/** An included file, and what it is read with. */
export interface IncludedFile {
  readonly path: string
  /** The entry of the main file's `include` that names it. */
  readonly index: number
  readonly main: Source
  readonly files: Files
  readonly parse: Parse
  readonly listeners: readonly ListenerSketch[]
}

/** Reads an included file: one site, or a list of them under `vhosts`. */
export function readIncluded(included: IncludedFile): readonly ReadSite[] {
  const { path: file, listeners } = included
  const parsed = readAndParse(included)
  if ('errors' in parsed) return [brokenFile({ file, listeners, errors: parsed.errors })]
  const { source } = parsed
  if (isMap(source.value) && !('vhosts' in source.value)) return [readSite({ source, path: [], index: 0 }, listeners)]
  const errors = checkFile(source).map((mistake) => locate(mistake, source))
  if (errors.length > 0) return [brokenFile({ file, listeners, errors, source })]
  return listAt(source.value, 'vhosts').map((_, index) =>
    readSite({ source, path: ['vhosts', index], index }, listeners),
  )
}

function readAndParse({ path, index, main, files, parse }: IncludedFile): ParseResult {
  const text = readText(path, files)
  if ('value' in text) return parse(path, text.value)
  const message = `the included file ${printable(path)} cannot be read: ${text.reason}`
  return { errors: [{ ...main.place(['include', index], 'value'), message }] }
}

interface BrokenFile {
  readonly file: string
  readonly listeners: readonly ListenerSketch[]
  readonly errors: readonly ConfigError[]
  readonly source?: Source
}

function brokenFile({ file, listeners, errors, source }: BrokenFile): ReadSite {
  const sites = source === undefined ? [] : listAt(source.value, 'vhosts')
  const claims = sites.flatMap((_, index) =>
    source === undefined ? [] : readClaims({ source, path: ['vhosts', index] }),
  )
  return { file, index: undefined, claims, listeners: servingListeners(undefined, listeners), errors, build: undefined }
}

const fileHint = 'an included file has one site, or a list under vhosts and nothing else'

function checkFile({ value, mistakes }: Source): readonly Mistake[] {
  if (!isMap(value)) return [{ path: [], aim: 'value', message: 'an included file must be a map', hint: fileHint }]
  const outside = mistakes.filter(({ path }) => path[0] !== 'vhosts' || path.length < 2)
  const strangers = Object.keys(value).filter((key) => key !== 'vhosts')
  const unknown = strangers.map((key): Mistake => {
    return { path: [key], aim: 'key', message: `unknown key ${shown(key)} beside vhosts`, hint: fileHint }
  })
  const isList = Array.isArray(value['vhosts']) || outside.length > 0
  return [...outside, ...unknown, ...(isList ? [] : [noList])]
}

const noList: Mistake = { path: ['vhosts'], aim: 'value', message: 'vhosts must be a list' }
