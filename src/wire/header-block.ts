// Header lines as bytes with offsets: as they came on HTTP/1, as HPACK decoded them on HTTP/2. Codecs fill one, rules
// drop and add lines, writers copy what is left. A block is lent: who needs it after the call that got it clones it.
import type { ByteWriter } from './byte-writer.js'
import { lowerCase } from './character.js'
import { Field } from './field-names.js'

const spanStride = 4
const emptyBytes = Buffer.alloc(0)

/** The lines `name: value CRLF` of one head or trailer section, in the order in which they came. */
export class HeaderBlock {
  /** Holds the lines back to back, from the first line's start to `end`. */
  bytes: Buffer = emptyBytes
  /** Number of lines, dropped ones included. */
  count = 0
  /** Offset behind the last line's CRLF. */
  end = 0
  /** Lines of our own, as name, value, name, value, …; written after the received ones. */
  readonly added: string[] = []
  /** The number of each line's name, `Field.dropped` for a line that is not passed on. */
  ids = new Uint8Array(64)
  #spans = new Int32Array(64 * spanStride)
  /** A bit for each number that some line has had, so that asking for an absent name costs no loop. */
  #present = 0

  /** Forgets every line and takes `bytes` as what the next ones stand in. */
  reset(bytes: Buffer): void {
    this.bytes = bytes
    this.count = 0
    this.end = 0
    this.#present = 0
    if (this.added.length > 0) this.added.length = 0
  }

  /**
   * Appends a line: offsets of its start, its name's end, its trimmed value, and the end behind its CRLF.
   * Plain parameters, because an object for each line costs a tenth of the whole scan.
   */
  push(start: number, nameEnd: number, valueStart: number, valueEnd: number, lineEnd: number, id: number): void {
    const index = this.count++
    if (index === this.ids.length) this.#grow()
    const at = index * spanStride
    const spans = this.#spans
    spans[at] = start
    spans[at + 1] = nameEnd
    spans[at + 2] = valueStart
    spans[at + 3] = valueEnd
    this.ids[index] = id
    this.#present |= 1 << id
    this.end = lineEnd
  }

  /** Offset of a line's first byte. */
  startOf(index: number): number {
    return this.#spans[index * spanStride] as number
  }

  /** Offset behind a line's name. */
  nameEndOf(index: number): number {
    return this.#spans[index * spanStride + 1] as number
  }

  /** Offset of the first byte of a line's value, behind white space. */
  valueStartOf(index: number): number {
    return this.#spans[index * spanStride + 2] as number
  }

  /** Offset behind the last byte of a line's value, before white space. */
  valueEndOf(index: number): number {
    return this.#spans[index * spanStride + 3] as number
  }

  /** A line's name in lower case. */
  nameOf(index: number): string {
    return this.bytes.toString('latin1', this.startOf(index), this.nameEndOf(index)).toLowerCase()
  }

  /** A line's value, one character a byte (latin1), so that obs-text survives. */
  valueOf(index: number): string {
    return this.bytes.toString('latin1', this.valueStartOf(index), this.valueEndOf(index))
  }

  /** The first kept line with this number from `from` on, or -1. */
  find(id: number, from = 0): number {
    if ((this.#present & (1 << id)) === 0) return -1
    for (let index = from; index < this.count; index++) if (this.ids[index] === id) return index
    return -1
  }

  /** The values of all kept lines with this name (lower case), in order. */
  valuesOf(name: string): string[] {
    const values: string[] = []
    for (let index = 0; index < this.count; index++) {
      if (this.ids[index] !== Field.dropped && this.isNamed(index, name)) values.push(this.valueOf(index))
    }
    return values
  }

  /** Whether a line has this name (lower case). */
  isNamed(index: number, name: string): boolean {
    const start = this.startOf(index)
    if (this.nameEndOf(index) - start !== name.length) return false
    for (let at = 0; at < name.length; at++) {
      if (lowerCase[this.bytes[start + at] as number] !== name.charCodeAt(at)) return false
    }
    return true
  }

  /** Whether a line's value is `text` (lower case), compared without case. */
  hasValue(index: number, text: string): boolean {
    const start = this.valueStartOf(index)
    if (this.valueEndOf(index) - start !== text.length) return false
    for (let at = 0; at < text.length; at++) {
      if (lowerCase[this.bytes[start + at] as number] !== text.charCodeAt(at)) return false
    }
    return true
  }

  /** Keeps a line from being passed on. */
  drop(index: number): void {
    this.ids[index] = Field.dropped
  }

  /** Keeps every line with this number from being passed on. */
  dropAll(id: number): void {
    for (let index = this.find(id); index !== -1; index = this.find(id, index + 1)) this.drop(index)
  }

  /** Adds a line of our own behind the received ones; both texts are latin1 and already valid. */
  add(name: string, value: string): void {
    this.added.push(name, value)
  }

  /** Writes the kept lines, then the added ones, as HTTP/1 lines. Neighbouring lines are one copy. */
  writeLines(out: ByteWriter): void {
    let runStart = -1
    for (let index = 0; index < this.count; index++) {
      const isKept = this.ids[index] !== Field.dropped
      if (isKept && runStart === -1) runStart = this.startOf(index)
      if (!isKept && runStart !== -1) {
        out.copy(this.bytes, runStart, this.startOf(index))
        runStart = -1
      }
    }
    if (runStart !== -1) out.copy(this.bytes, runStart, this.end)
    for (let at = 0; at < this.added.length; at += 2) out.line(this.added[at] as string, this.added[at + 1] as string)
  }

  /** An upper bound of what `writeLines` writes, in bytes. */
  get writtenBytesMax(): number {
    let bytes = this.count === 0 ? 0 : this.end - this.startOf(0)
    for (const text of this.added) bytes += text.length + 4
    return bytes
  }

  /** A block with the same lines in memory of its own, for who keeps it beyond the call. */
  clone(): HeaderBlock {
    const copy = new HeaderBlock()
    const base = this.count === 0 ? 0 : this.startOf(0)
    copy.reset(Buffer.from(this.bytes.subarray(base, this.end)))
    copy.ids = this.ids.slice()
    copy.#spans = this.#spans.map((offset) => offset - base)
    copy.#present = this.#present
    copy.count = this.count
    copy.end = this.end - base
    copy.added.push(...this.added)
    return copy
  }

  #grow(): void {
    const ids = new Uint8Array(this.ids.length * 2)
    ids.set(this.ids)
    this.ids = ids
    const spans = new Int32Array(this.#spans.length * 2)
    spans.set(this.#spans)
    this.#spans = spans
  }
}
