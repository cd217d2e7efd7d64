// Paths as a person would write them where they stand. Pure.
import { relative } from 'node:path'

/** Relative to `directory` where the path lies below it, absolute elsewhere. */
export function displayPath(path: string, directory: string): string {
  const short = relative(directory, path)
  return short === '' || short.startsWith('..') ? path : short
}
