// The text of an address set: a range or an address on each line, comments from `#`, empty lines. Pure.

import { type Cidr, parseCidr } from './cidr.js'

/** What is wrong with a line; lines and columns are counted from 1. */
export interface CidrListMistake {
  readonly line: number
  readonly column: number
  /** As written, cut off where it is long. */
  readonly written: string
  readonly mistake: string
  readonly hint: string | undefined
}

/** The ranges of a text, and what is wrong with its other lines. */
export interface CidrList {
  readonly ranges: readonly Cidr[]
  readonly mistakes: readonly CidrListMistake[]
}

const writtenLengthMax = 60

/** Reads the text of an address set. */
export function parseCidrList(text: string): CidrList {
  const ranges: Cidr[] = []
  const mistakes: CidrListMistake[] = []
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const [content = ''] = line.split('#', 1)
    const written = content.trim()
    if (written === '') continue
    const parsed = parseCidr(written)
    if ('value' in parsed) ranges.push(parsed.value)
    else {
      const { mistake, hint } = parsed
      const column = content.indexOf(written) + 1
      mistakes.push({ line: index + 1, column, written: written.slice(0, writtenLengthMax), mistake, hint })
    }
  }
  return { ranges, mistakes }
}
