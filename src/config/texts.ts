// Files that the configuration takes in whole: bodies of errors, PEM of upstreams. Each is read once a load, and what was
// tried is remembered, so that its coming and changing is seen.

import { type DiskResult, type Files, readText } from './files.js'

const textLengthMax = 1_048_576

/** The texts of one load. */
export class Texts {
  readonly #files: Files
  readonly #read = new Map<string, DiskResult<string>>()

  constructor(files: Files) {
    this.#files = files
  }

  /** The text of the file at an absolute path. */
  read(path: string): DiskResult<string> {
    const known = this.#read.get(path)
    if (known !== undefined) return known
    const result = bounded(readText(path, this.#files))
    this.#read.set(path, result)
    return result
  }

  /** Every path that was tried. */
  get paths(): readonly string[] {
    return [...this.#read.keys()]
  }
}

function bounded(result: DiskResult<string>): DiskResult<string> {
  if ('reason' in result || result.value.length <= textLengthMax) return result
  return { reason: `it is longer than ${textLengthMax} characters` }
}
