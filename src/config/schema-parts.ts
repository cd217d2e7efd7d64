// What schemas are built of: bounded numbers, lists, and texts that are read by the pure readers of net/. Used by the
// schema files of this folder.

import { z } from 'zod'
import type { Parsed } from '../net/parsed.js'

const dayMs = 86_400_000
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** A name that the configuration gives to one of its own things. */
export function name() {
  return z.string().regex(namePattern, { error: 'must be 1 to 64 letters, digits, ".", "_" or "-"' })
}

/** Whether a text is a {@link name}. */
export function isName(text: string): boolean {
  return namePattern.test(text)
}

/** A path in the file system, absolute or relative to the file that it stands in. */
export function path() {
  // A file name cannot hold NUL; Node throws on one.
  return z.string().regex(/^[^\0]+$/, { error: 'must be a path' })
}

/** The name of a header line as written. */
export function headerName() {
  return z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, { error: 'must be a header name' })
}

/** A whole number within bounds. */
export function whole(min: number, max: number) {
  return z.int().min(min).max(max)
}

/** Milliseconds, a day at most; 0 is not "for ever". */
export function wait(defaultMs: number) {
  return anyWait().default(defaultMs)
}

/** Milliseconds without a default of their own. */
export function anyWait() {
  return whole(1, dayMs)
}

/** A list with a bound on its length. */
export function list<Item extends z.ZodType>(item: Item, min: number, max: number) {
  return z.array(item).min(min).max(max)
}

/** A text in the words of a reader, whose mistake and hint are told. */
export function readBy<Value>(read: (raw: string) => Parsed<Value>) {
  return z.string().transform((raw, context): Value => {
    const parsed = read(raw)
    if ('value' in parsed) return parsed.value
    context.issues.push({ code: 'custom', message: parsed.mistake, params: { hint: parsed.hint }, input: raw })
    return z.NEVER
  })
}
