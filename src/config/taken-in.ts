// Whether the files that a value names can be read. Works on values that nobody has validated. Used by the checks.

import { dirname, resolve } from 'node:path'
import type { Mistake } from './mistake.js'
import { printable } from './printable.js'
import type { Texts } from './texts.js'
import { type Path, valueAt } from './value.js'

/** Where names of files begin, and what reads them. */
export interface Surrounding {
  /** The file that the names stand in. */
  readonly file: string
  readonly texts: Texts
}

/** A mistake for each of `paths` that leads to the name of a file that cannot be read. */
export function unreadableFiles(
  value: unknown,
  paths: readonly Path[],
  { file, texts }: Surrounding,
): readonly Mistake[] {
  return paths.flatMap((path): readonly Mistake[] => {
    const written = valueAt(value, path)
    // Empty, or with a NUL, which no file name has: the schema tells.
    if (typeof written !== 'string' || written === '' || written.includes('\0')) return []
    const absolute = resolve(dirname(file), written)
    const read = texts.read(absolute)
    if ('value' in read) return []
    return [{ path, aim: 'value', message: `the file ${printable(absolute)} cannot be read: ${read.reason}` }]
  })
}
