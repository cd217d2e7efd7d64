// The static and the dynamic table of HPACK (RFC 7541 §2.3). Entries are kept as the lines `name: value CRLF` that they
// become, so that a reference is one copy. Used by the decoder (with tags) and the encoder (with hashes).
import { tagOfName } from './field-tag.js'

/** The dynamic table's size that both sides start with, and the largest one that Hostward keeps (RFC 9113 §6.5.2). */
export const tableBytesMax = 4096

/** What each entry costs beyond its name and value (RFC 7541 §4.1). */
export const entryOverheadBytes = 32

/** What a line holds beyond name and value: colon, space, CR and LF. */
export const lineOverheadBytes = 4

const staticFields: readonly (readonly [name: string, ...values: string[]])[] = [
  [':authority', ''],
  [':method', 'GET', 'POST'],
  [':path', '/', '/index.html'],
  [':scheme', 'http', 'https'],
  [':status', '200', '204', '206', '304', '400', '404', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...[
    'accept-language',
    'accept-ranges',
    'accept',
    'access-control-allow-origin',
    'age',
    'allow',
    'authorization',
    'cache-control',
    'content-disposition',
    'content-encoding',
    'content-language',
    'content-length',
    'content-location',
    'content-range',
    'content-type',
    'cookie',
    'date',
    'etag',
    'expect',
    'expires',
    'from',
    'host',
    'if-match',
    'if-modified-since',
    'if-none-match',
    'if-range',
    'if-unmodified-since',
    'last-modified',
    'link',
    'location',
    'max-forwards',
    'proxy-authenticate',
    'proxy-authorization',
    'range',
    'referer',
    'refresh',
    'retry-after',
    'server',
    'set-cookie',
    'strict-transport-security',
    'transfer-encoding',
    'user-agent',
    'vary',
    'via',
    'www-authenticate',
  ].map((name) => [name, ''] as const),
]

/** The static table: names, values and tags from index 1 on, and each line's place in `bytes` (`starts[n]` to `starts[n + 1]`). */
export const staticTable = buildStaticTable()

/** Number of entries of the static table; dynamic indexes start behind it. */
export const staticCount = staticTable.names.length - 1

const stride = 4
const noBytes = Buffer.alloc(0)
const noEntries = new Int32Array(0)

/** A dynamic table. Entries are addressed by `serial`, which counts insertions and never changes. */
export class DynamicTable {
  /** Holds the live lines back to back, oldest first; its neighbours in the table are neighbours here. */
  bytes: Buffer = noBytes
  /** Serial of the oldest live entry. */
  oldest = 0
  /** Serial of the next insertion. */
  next = 0
  #sizeBytes = 0
  #limitBytes: number
  #end = 0
  // Start, name length, line length and note of each entry; grown with use, because most connections idle.
  #entries = noEntries
  #mask = -1

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  get limitBytes(): number {
    return this.#limitBytes
  }

  get count(): number {
    return this.next - this.oldest
  }

  startOf(serial: number): number {
    return this.#entries[(serial & this.#mask) * stride] as number
  }

  nameLengthOf(serial: number): number {
    return this.#entries[(serial & this.#mask) * stride + 1] as number
  }

  lineLengthOf(serial: number): number {
    return this.#entries[(serial & this.#mask) * stride + 2] as number
  }

  /** What the owner wrote down at insertion. */
  noteOf(serial: number): number {
    return this.#entries[(serial & this.#mask) * stride + 3] as number
  }

  /** Changes the limit and evicts what is over it (RFC 7541 §4.3). */
  resize(limitBytes: number): void {
    this.#limitBytes = limitBytes
    this.#evictTo(limitBytes)
  }

  /** Adds the line that stands in `source` from `start`; one larger than the table empties it (RFC 7541 §4.4). */
  insert(source: Uint8Array, start: number, nameLength: number, lineLength: number, note: number): void {
    const sizeBytes = lineLength - lineOverheadBytes + entryOverheadBytes
    this.#evictTo(this.#limitBytes - sizeBytes)
    if (sizeBytes > this.#limitBytes) return
    if (this.#end + lineLength > this.bytes.length) this.#makeRoom(lineLength)
    if (this.count > this.#mask) this.#growEntries()
    copyBytes(source, start, start + lineLength, this.bytes, this.#end)
    const at = (this.next & this.#mask) * stride
    const entries = this.#entries
    entries[at] = this.#end
    entries[at + 1] = nameLength
    entries[at + 2] = lineLength
    entries[at + 3] = note
    this.#end += lineLength
    this.#sizeBytes += sizeBytes
    this.next++
  }

  #evictTo(sizeBytes: number): void {
    while (this.#sizeBytes > sizeBytes && this.oldest < this.next) {
      this.#sizeBytes -= this.lineLengthOf(this.oldest++) - lineOverheadBytes + entryOverheadBytes
    }
    if (this.oldest === this.next) this.#end = 0
  }

  /** Moves the live lines to the front, or to larger memory once they fill half of it. */
  #makeRoom(lineLength: number): void {
    const liveStart = this.count === 0 ? this.#end : this.startOf(this.oldest)
    const neededBytes = (this.#end - liveStart + lineLength) * 2
    if (neededBytes <= this.bytes.length) {
      this.bytes.copyWithin(0, liveStart, this.#end)
    } else {
      const grown = Buffer.allocUnsafeSlow(Math.max(512, 1 << (32 - Math.clz32(neededBytes - 1))))
      grown.set(this.bytes.subarray(liveStart, this.#end))
      this.bytes = grown
    }
    for (let serial = this.oldest; serial < this.next; serial++) {
      const at = (serial & this.#mask) * stride
      this.#entries[at] = (this.#entries[at] as number) - liveStart
    }
    this.#end -= liveStart
  }

  #growEntries(): void {
    const mask = Math.max(16, (this.#mask + 1) * 2) - 1
    const grown = new Int32Array((mask + 1) * stride)
    for (let serial = this.oldest; serial < this.next; serial++) {
      const from = (serial & this.#mask) * stride
      grown.set(this.#entries.subarray(from, from + stride), (serial & mask) * stride)
    }
    this.#entries = grown
    this.#mask = mask
  }
}

/** Copies `source` from `start` to `end` into `target` at `at`; a loop for short ranges, where a call costs more. */
export function copyBytes(source: Uint8Array, start: number, end: number, target: Uint8Array, at: number): void {
  if (end - start > 64) {
    target.set(start === 0 && end === source.length ? source : source.subarray(start, end), at)
    return
  }
  let to = at
  for (let index = start; index < end; index++) target[to++] = source[index] as number
}

function buildStaticTable() {
  const names: string[] = ['']
  const values: string[] = ['']
  for (const [name, ...ofName] of staticFields) {
    for (const value of ofName) {
      names.push(name)
      values.push(value)
    }
  }
  const lines = names.map((name, index) => (index === 0 ? '' : `${name}: ${values[index]}\r\n`))
  const starts = new Int32Array(lines.length + 1)
  for (let index = 0; index < lines.length; index++) {
    starts[index + 1] = (starts[index] as number) + (lines[index] as string).length
  }
  const tags = Int32Array.from(names, (name) => tagOfName(Buffer.from(name), 0, name.length))
  return { names, values, tags, starts, bytes: Buffer.from(lines.join('')) }
}
