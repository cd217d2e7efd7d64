// Statuses as people list them: "200-399" or "200,204,300-399". Pure.

import type { Parsed } from '../net/parsed.js'

/** Statuses from one to another, both included. */
export interface StatusRange {
  readonly from: number
  readonly to: number
}

/** Reads a list of final statuses and ranges of them. */
export function parseStatusRanges(raw: string): Parsed<readonly StatusRange[]> {
  const ranges: StatusRange[] = []
  for (const part of raw.split(',')) {
    const [, from, to = from] = /^\s*(\d{3})(?:\s*-\s*(\d{3}))?\s*$/.exec(part) ?? []
    if (from === undefined) return { mistake: 'is not a list of statuses', hint: 'write "200-399" or "200,204"' }
    const range = { from: Number(from), to: Number(to) }
    if (range.from < 200 || range.to > 599) return { mistake: 'has a status that is not from 200 to 599' }
    if (range.from > range.to) return { mistake: 'has a range that ends before it begins' }
    ranges.push(range)
  }
  return { value: ranges }
}
