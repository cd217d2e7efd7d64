// Looking into values whose shape nobody has checked yet, so that all mistakes can be told at once. Never throws.

import type { Path } from './mistake.js'

/** A map of a configuration file. */
export type ValueMap = Readonly<Record<string, unknown>>

/** Whether a value is a map. */
export function isMap(value: unknown): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The list under a key, or an empty one where there is none. */
export function listAt(value: unknown, key: string): readonly unknown[] {
  const list = isMap(value) ? value[key] : undefined
  return Array.isArray(list) ? list : []
}

/** What a path leads to, or undefined. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root
  for (const segment of path) {
    if (Array.isArray(value)) value = value[Number(segment)]
    else value = isMap(value) && Object.hasOwn(value, segment) ? value[segment] : undefined
  }
  return value
}

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
