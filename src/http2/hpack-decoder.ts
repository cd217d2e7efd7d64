// Turns compressed field sections into header blocks (RFC 7541). One decoder a connection and direction; the state of
// its table must follow every section that came, even one that is refused.

import type { FieldSection } from './field-section.js'
import { Tag, tagOfName, tagOfValue } from './field-tag.js'
import { decodeHuffman } from './hpack-huffman.js'
import { copyBytes, DynamicTable, staticCount, staticTable, tableBytesMax } from './hpack-tables.js'
import { internText } from './text-cache.js'

const emptyBytes = Buffer.alloc(0)
/** RFC 7541 §4.2: between two sections an encoder needs to signal at most the smallest and the final size. */
const resizesPerSection = 2
const integerMax = 2 ** 28

/** Decodes the field sections of one direction of one connection. */
export class HpackDecoder {
  readonly #table: DynamicTable
  #announcedBytes: number
  #source: Buffer = emptyBytes
  #at = 0
  #end = 0

  constructor(tableBytes: number = tableBytesMax) {
    this.#table = new DynamicTable(tableBytes)
    this.#announcedBytes = tableBytes
  }

  /** The largest table that the peer may ask for from now on (SETTINGS_HEADER_TABLE_SIZE, acknowledged). */
  announce(tableBytes: number): void {
    this.#announcedBytes = tableBytes
    if (this.#table.limitBytes > tableBytes) this.#table.resize(tableBytes)
  }

  /**
   * Decodes `source` from `start` to `end` into `section`, which has begun. False for a coding error: the connection
   * cannot go on (COMPRESSION_ERROR). A malformed message is the section's `fault` instead.
   */
  decode(source: Buffer, start: number, end: number, section: FieldSection): boolean {
    this.#source = source
    this.#at = start
    this.#end = end
    const isSound = this.#resizes() && this.#fields(section)
    this.#source = emptyBytes
    section.settle()
    section.finish()
    return isSound
  }

  #resizes(): boolean {
    for (let count = 0; this.#at < this.#end && ((this.#source[this.#at] as number) & 0xe0) === 0x20; count++) {
      const limitBytes = this.#integer(0x1f)
      if (limitBytes < 0 || limitBytes > this.#announcedBytes || count === resizesPerSection) return false
      this.#table.resize(limitBytes)
    }
    return true
  }

  #fields(section: FieldSection): boolean {
    while (this.#at < this.#end) {
      const byte = this.#source[this.#at] as number
      if (byte >= 0x80) {
        if (!this.#indexed(section)) return false
      } else if (byte >= 0x40) {
        if (!this.#literal(section, 0x3f)) return false
      } else if (byte >= 0x20 || !this.#literal(section, 0x0f)) {
        return false
      }
    }
    return true
  }

  #indexed(section: FieldSection): boolean {
    const index = this.#integer(0x7f)
    if (index <= 0) return false
    if (index <= staticCount) {
      takeStatic(section, index)
      return true
    }
    const table = this.#table
    const serial = table.next - (index - staticCount)
    if (serial < table.oldest) return false
    const start = table.startOf(serial)
    const nameLength = table.nameLengthOf(serial)
    const lineLength = table.lineLengthOf(serial)
    const tag = table.noteOf(serial)
    if ((tag & Tag.pseudo) === 0 || tag >= Tag.badName) {
      section.takeStored(table.bytes, start, nameLength, lineLength, tag)
    } else {
      section.takePseudo(tag, internText(table.bytes, start + nameLength + 2, start + lineLength - 2), nameLength)
    }
    return true
  }

  /** RFC 7541 §6.2: with a six-bit index the field enters the table, with a four-bit index it does not. */
  #literal(section: FieldSection, indexMask: number): boolean {
    section.settle()
    const bytes = section.bytes
    const start = section.at
    const index = this.#integer(indexMask)
    if (index < 0) return false
    const nameEnd = index === 0 ? this.#string(bytes, start) : this.#copyName(index, bytes, start)
    if (nameEnd < 0) return false
    const nameTag = index === 0 ? tagOfName(bytes, start, nameEnd) : this.#nameTag(index)
    bytes[nameEnd] = 0x3a
    bytes[nameEnd + 1] = 0x20
    const valueEnd = this.#string(bytes, nameEnd + 2)
    if (valueEnd < 0) return false
    bytes[valueEnd] = 0x0d
    bytes[valueEnd + 1] = 0x0a
    const tag = nameTag | tagOfValue(bytes, nameEnd + 2, valueEnd)
    const nameLength = nameEnd - start
    if (indexMask === 0x3f) this.#table.insert(bytes, start, nameLength, valueEnd + 2 - start, tag)
    if ((tag & Tag.pseudo) === 0 || tag >= Tag.badName) {
      section.takeBuilt(nameLength, valueEnd + 2 - start, tag)
    } else {
      section.takePseudo(tag, internText(bytes, nameEnd + 2, valueEnd), nameLength)
    }
    return true
  }

  /** Copies the name of entry `index` to `at`; returns the offset behind it, -1 where there is no such entry. */
  #copyName(index: number, bytes: Buffer, at: number): number {
    if (index <= staticCount) {
      const length = (staticTable.names[index] as string).length
      const start = staticTable.starts[index] as number
      copyBytes(staticTable.bytes, start, start + length, bytes, at)
      return at + length
    }
    const table = this.#table
    const serial = table.next - (index - staticCount)
    if (serial < table.oldest) return -1
    const start = table.startOf(serial)
    const length = table.nameLengthOf(serial)
    copyBytes(table.bytes, start, start + length, bytes, at)
    return at + length
  }

  #nameTag(index: number): number {
    if (index <= staticCount) return staticTable.tags[index] as number
    return this.#table.noteOf(this.#table.next - (index - staticCount)) & ~Tag.badValue
  }

  /** Decodes a string literal to `at` (RFC 7541 §5.2); returns the offset behind it, -1 for a coding error. */
  #string(target: Buffer, at: number): number {
    if (this.#at >= this.#end) return -1
    const isHuffman = (this.#source[this.#at] as number) >= 0x80
    const length = this.#integer(0x7f)
    const start = this.#at
    if (length < 0 || length > this.#end - start) return -1
    this.#at = start + length
    if (isHuffman) return decodeHuffman(this.#source, start, this.#at, target, at)
    copyBytes(this.#source, start, this.#at, target, at)
    return at + length
  }

  /** Decodes an integer behind a prefix (RFC 7541 §5.1); -1 where it is cut off or absurdly large. */
  #integer(mask: number): number {
    const source = this.#source
    let value = (source[this.#at++] as number) & mask
    if (value < mask) return value
    for (let shift = 0; this.#at < this.#end && shift <= 28; shift += 7) {
      const byte = source[this.#at++] as number
      value += (byte & 0x7f) * 2 ** shift
      if (value > integerMax) return -1
      if (byte < 0x80) return value
    }
    return -1
  }
}

function takeStatic(section: FieldSection, index: number): void {
  const name = staticTable.names[index] as string
  const tag = staticTable.tags[index] as number
  if (tag & Tag.pseudo) {
    section.takePseudo(tag, staticTable.values[index] as string, name.length)
    return
  }
  const start = staticTable.starts[index] as number
  section.takeStored(staticTable.bytes, start, name.length, (staticTable.starts[index + 1] as number) - start, tag)
}
