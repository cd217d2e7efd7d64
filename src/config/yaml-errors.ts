// What the YAML library says of a broken file, in the words of somebody who wants to mend it; the classic traps have a
// hint. Used by parse.ts alone.

import type { YAMLParseError, YAMLWarning } from 'yaml'
import { printable, shown } from './printable.js'

/** A mistake at an offset of the text. */
export interface TextError {
  readonly offset: number
  readonly message: string
  readonly hint?: string
}

type Problem = YAMLParseError | YAMLWarning

const errorsMax = 20
// One odd character repeated is a problem each; nobody reads them all, and each costs a look at its line.
const problemsMax = 1000
const lineWindow = 200

/** The problems in order of place, one a line: what follows on the same line is nearly always an echo. */
export function explainYamlErrors(problems: readonly Problem[], text: string): readonly TextError[] {
  const byLine = new Map<number, TextError>()
  const errors = problems.slice(0, problemsMax).map((problem) => explain(problem, text))
  for (const error of errors.sort((left, right) => left.offset - right.offset)) {
    const line = lineStart(text, error.offset)
    if (!byLine.has(line)) byLine.set(line, error)
  }
  return [...byLine.values()].slice(0, errorsMax)
}

function explain(problem: Problem, text: string): TextError {
  const offset = Math.min(problem.pos[0], text.length)
  const address = unquotedIpv6(text, offset)
  if (address !== undefined) return address
  switch (problem.code) {
    case 'TAB_AS_INDENT':
      return { offset, message: 'a tab indents this line', hint: 'YAML indents with spaces' }
    case 'DUPLICATE_KEY':
      return { offset, message: `the key ${wordAt(text, offset)} is there twice`, hint: 'keep one of the two' }
    case 'BAD_ALIAS':
      return {
        offset,
        message: 'an unquoted * begins an alias in YAML',
        hint: 'quote it: "*.example.com"; there is no catch-all host',
      }
    case 'BAD_SCALAR_START':
      return { offset, message: `an unquoted text cannot begin with ${text[offset]}`, hint: 'put it in quotes' }
    case 'BLOCK_AS_IMPLICIT_KEY':
      return { offset, message: 'a map begins inside a value', hint: 'quote a text that contains ": "' }
    case 'TAG_RESOLVE_FAILED':
      return {
        offset,
        message: `the tag ${wordAt(text, offset)} means nothing here`,
        hint: 'remove it, or quote a text that begins with "!"',
      }
    case 'BAD_INDENT':
    case 'MISSING_CHAR':
      return explainShape(problem.message, offset)
    default:
      return { offset, message: `invalid YAML: ${lowerFirst(problem.message)}` }
  }
}

function explainShape(message: string, offset: number): TextError {
  const known = shapes.find(([pattern]) => pattern.test(message))
  if (known === undefined) return { offset, message: `invalid YAML: ${lowerFirst(message)}` }
  return { offset, message: known[1], hint: known[2] }
}

const shapes: readonly (readonly [pattern: RegExp, message: string, hint: string])[] = [
  [/^Flow sequence/, 'a list is not closed before this', 'add the missing "]"'],
  [/^Flow map/, 'a map is not closed before this', 'add the missing "}"'],
  [/closing "quote|closing 'quote/, 'a quoted text is not closed', 'add the missing quote'],
  [
    /same column/,
    'this line is indented otherwise than those beside it',
    'keys of one map and entries of one list share a column',
  ],
]

// `bind: [::1]:443` is a list to YAML, and then something that should not be there.
function unquotedIpv6(text: string, offset: number): TextError | undefined {
  const start = Math.max(lineStart(text, offset), offset - lineWindow)
  const line = text.slice(start, Math.min(lineEnd(text, offset), offset + lineWindow))
  const match = /(?<=[\s,[]|^)\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]:\d+/.exec(line)
  if (match === null) return undefined
  return {
    offset: start + match.index,
    message: `an unquoted ${match[0]} begins a list in YAML`,
    hint: `quote it: "${match[0]}"`,
  }
}

function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1
}

function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset)
  return end === -1 ? text.length : end
}

function wordAt(text: string, offset: number): string {
  const word = /^(?:"[^"\n]{0,64}"|'[^'\n]{0,64}'|[^\s:,[\]{}]{1,64})/.exec(text.slice(offset, offset + 80))
  return word === null ? '' : shown(word[0].replace(/^["']|["']$/g, ''))
}

function lowerFirst(message: string): string {
  const firstLine = message.split('\n', 1)[0]
  return printable(firstLine.charAt(0).toLowerCase() + firstLine.slice(1))
}
