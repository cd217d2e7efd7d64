// How a message quotes what stands in a file that others may have written: for a terminal and a log, on one line.

import { isMap } from './value.js'

const shownLengthMax = 80
const credentials = /\/\/[^/@\s]*@/
// Controls, line separators and changes of direction: what a terminal obeys instead of showing.
const unprintable = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu

/** A value as a message shows it: on one line, clipped, nothing a terminal would obey, no password of a URL. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (isMap(value)) return 'a map'
  if (typeof value !== 'string') return String(value)
  const text = printable(JSON.stringify(value.replace(credentials, '//…@')))
  return text.length > shownLengthMax ? `${text.slice(0, shownLengthMax - 1)}…` : text
}

/** A text with what a terminal would obey written as an escape. */
export function printable(text: string): string {
  return text.replace(unprintable, escapeCode)
}

function escapeCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
