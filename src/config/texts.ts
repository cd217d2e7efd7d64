// Files that the configuration takes in whole: bodies of errors, PEM of upstreams. Each is read once a load, and what was
// tried is remembered, so that its coming and changing is seen.

import { hashOf } from '../files/file-content.js'
import { type DiskResult, type Files, readText, type TextFile } from './files.js'

const textLengthMax = 1_048_576

/** What was asked for, with what it was at that moment. */
export type AskedTexts = ReadonlyMap<string, DiskResult<TextFile>>

/** The texts of one load after the other; what has not changed stays the same object. */
export class Texts {
  #files: Files
  #before = new Map<string, DiskResult<TextFile>>()
  #read = new Map<string, DiskResult<TextFile>>()
  #asked: Map<string, DiskResult<TextFile>> | undefined

  constructor(files: Files) {
    this.#files = files
  }

  /** Another load begins: every text is looked at again. */
  startLoad(files: Files): void {
    this.#files = files
    this.#before = this.#read
    this.#read = new Map()
  }

  /** The file at an absolute path, the same object for the same path. */
  read(path: string): DiskResult<TextFile> {
    const result = this.#read.get(path) ?? this.#readAgain(path)
    this.#read.set(path, result)
    this.#asked?.set(path, result)
    return result
  }

  /** Does some work, and tells which texts it has asked for. */
  during<Result>(work: () => Result): { readonly result: Result; readonly asked: AskedTexts } {
    const asked = new Map<string, DiskResult<TextFile>>()
    this.#asked = asked
    const result = work()
    this.#asked = undefined
    return { result, asked: asked.size === 0 ? nothingAsked : asked }
  }

  /** Whether all of these are what they were. */
  areStill(asked: AskedTexts): boolean {
    for (const [path, result] of asked) if (this.read(path) !== result) return false
    return true
  }

  /** Every path that was tried in this load. */
  get paths(): readonly string[] {
    return [...this.#read.keys()]
  }

  #readAgain(path: string): DiskResult<TextFile> {
    const result = readText(path, this.#files)
    const before = this.#before.get(path)
    return before !== undefined && isSame(before, result) ? before : toTextFile(path, result)
  }
}

const nothingAsked: AskedTexts = new Map()

function isSame(before: DiskResult<TextFile>, now: DiskResult<string>): boolean {
  if ('reason' in before || 'reason' in now)
    return 'reason' in before && 'reason' in now && before.reason === now.reason
  return before.value.text === now.value
}

function toTextFile(path: string, result: DiskResult<string>): DiskResult<TextFile> {
  if ('reason' in result) return result
  const text = result.value
  if (text.length > textLengthMax) return { reason: `it is longer than ${textLengthMax} characters` }
  return { value: { path, text, hash: hashOf(text) } }
}
