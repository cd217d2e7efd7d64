// A mistake before it has a place: it knows where in the tree of values it is, not in which line. Used by every check,
// so that none of them needs to know YAML.

import type { ConfigError, Place } from './config-error.js'
import { printable } from './printable.js'
import type { Path } from './value.js'

/** What a mistake points at: the key, or the value (of a missing key the parent's). */
export type Aim = 'key' | 'value'

/** What is wrong at a path, and what to do about it. */
export interface Mistake {
  readonly path: Path
  readonly aim: Aim
  readonly message: string
  readonly hint?: string
}

/** Something that knows the place of a path; the nearest readable parent's where the path leads nowhere. */
export interface Locator {
  place(path: Path, aim: Aim): Place
}

/** The mistake with its place; what it quotes of the file is made printable. */
export function locate(mistake: Mistake, locator: Locator): ConfigError {
  const place = locator.place(mistake.path, mistake.aim)
  const message = printable(mistake.message)
  return mistake.hint === undefined ? { ...place, message } : { ...place, message, hint: printable(mistake.hint) }
}

/** Mistakes found in a part of a file, as mistakes of the whole. */
export function rebase(base: Path, mistakes: readonly Mistake[]): readonly Mistake[] {
  return mistakes.map((mistake) => ({ ...mistake, path: [...base, ...mistake.path] }))
}

/** Whether `path` is `parent` or lies below it. */
export function isWithin(path: Path, parent: Path): boolean {
  return parent.every((segment, index) => path[index] === segment)
}
