// Files that the configuration takes in whole: bodies of errors, PEM of upstreams. Each is read once a load, and what was
// tried is remembered, so that its coming and changing is seen.

import { hashOf } from '../files/file-content.js'
import type { TextFile } from './config.js'
import { type DiskResult, type Files, readText } from './files.js'

const textLengthMax = 1_048_576

/** The texts of one load. */
export class Texts {
  readonly #files: Files
  readonly #read = new Map<string, DiskResult<TextFile>>()

  constructor(files: Files) {
    this.#files = files
  }

  /** The file at an absolute path, the same object for the same path. */
  read(path: string): DiskResult<TextFile> {
    const known = this.#read.get(path)
    if (known !== undefined) return known
    const result = toTextFile(path, readText(path, this.#files))
    this.#read.set(path, result)
    return result
  }

  /** Every path that was tried. */
  get paths(): readonly string[] {
    return [...this.#read.keys()]
  }
}

function toTextFile(path: string, result: DiskResult<string>): DiskResult<TextFile> {
  if ('reason' in result) return result
  const text = result.value
  if (text.length > textLengthMax) return { reason: `it is longer than ${textLengthMax} characters` }
  return { value: { path, text, hash: hashOf(text) } }
}
