// From the text of a YAML file to its value and the places of everything in it. Used by load-memory.ts. Never throws,
// whatever the text: depth, size and aliases are bounded before anything recurses.

import { Composer, type Document, isScalar, LineCounter, Parser } from 'yaml'
import type { ConfigError, Place } from './config-error.js'
import { type Aim, type Locator, locate, type Mistake } from './mistake.js'
import { toValue } from './node-value.js'
import { offsetAt, outlineOf } from './outline.js'
import type { Path } from './value.js'
import { explainYamlErrors, type TextError } from './yaml-errors.js'

/** A readable file. */
export interface Source extends Locator {
  readonly file: string
  readonly value: unknown
  /** What could not be read although the file could: the values of these paths are undefined. */
  readonly mistakes: readonly Mistake[]
}

/** A file's value, or why the file as a whole cannot be read. */
export type ParseResult = { readonly source: Source } | { readonly errors: readonly ConfigError[] }

const textLengthMax = 16 * 1024 * 1024
const depthMax = 64

/** Reads the text of `file`. */
export function parseYaml(file: string, text: string): ParseResult {
  const plainText = text.startsWith('\ufeff') ? text.slice(1) : text
  const lines = new LineCounter()
  const read = readDocument(plainText, lines)
  if ('errors' in read) return { errors: read.errors.map((error) => placed(error, file, lines)) }
  const root = read.document.contents
  const outline = root === null ? 0 : outlineOf(root)
  const place = (path: Path, aim: Aim) => placeAt(file, lines, offsetAt(outline, path, aim))
  const { value, mistakes, isExcessive } = toValue(root)
  if (isExcessive) return { errors: mistakes.slice(-1).map((mistake) => locate(mistake, { place })) }
  return { source: { file, value, mistakes, place } }
}

type DocumentResult = { readonly document: Document.Parsed } | { readonly errors: readonly TextError[] }

function readDocument(text: string, lines: LineCounter): DocumentResult {
  if (text.length > textLengthMax)
    return { errors: [{ offset: 0, message: `the file is longer than ${textLengthMax} characters` }] }
  const tokens = [...new Parser(lines.addNewLine).parse(text)]
  const tooDeep = offsetBelow(tokens, depthMax)
  if (tooDeep !== undefined)
    return { errors: [{ offset: tooDeep, message: `values are nested more than ${depthMax} deep` }] }
  const options = { prettyErrors: false, resolveKnownTags: false, lineCounter: lines } as const
  const documents = [...new Composer(options).compose(tokens, true, text.length)]
  const problems = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])
  if (problems.length > 0) return { errors: explainYamlErrors(problems, text) }
  return soleDocument(documents as Document.Parsed[])
}

function soleDocument([document, second]: readonly Document.Parsed[]): DocumentResult {
  if (second !== undefined) {
    const hint = 'a configuration file is one document: remove the line "---"'
    return { errors: [{ offset: second.range[0], message: 'a second YAML document begins here', hint }] }
  }
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) {
    return { errors: [{ offset: 0, message: 'the file is empty', hint: 'the README shows a complete configuration' }] }
  }
  return { document }
}

interface Token {
  readonly offset?: number
  readonly value?: unknown
  readonly items?: readonly { readonly key?: unknown; readonly value?: unknown }[]
}

// The parser keeps a stack of its own, but what composes its tokens recurses; deep enough, it ends the process (a
// regular expression compiled near the end of the stack is fatal, not an exception). So depth is measured without.
function offsetBelow(tokens: readonly unknown[], depthLimit: number): number | undefined {
  const waiting = tokens.map((token) => ({ token: token as Token, depth: 0 }))
  const visit = (child: unknown, depth: number): void => {
    if (typeof child === 'object' && child !== null) waiting.push({ token: child, depth })
  }
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { token, depth } = next
    if (depth > depthLimit) return token.offset ?? 0
    visit(token.value, depth + 1)
    for (const { key, value } of token.items ?? []) {
      visit(key, depth + 1)
      visit(value, depth + 1)
    }
  }
  return undefined
}

function placed({ offset, message, hint }: TextError, file: string, lines: LineCounter): ConfigError {
  return { ...placeAt(file, lines, offset), message, ...(hint !== undefined && { hint }) }
}

function placeAt(file: string, lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset)
  return { file, line: Math.max(line, 1), column: Math.max(col, 1) }
}
