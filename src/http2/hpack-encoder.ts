// Turns heads and trailers into compressed field sections (RFC 7541). One encoder a connection and direction. Finds
// entries by a hash of bytes, so that a header that repeats costs one hash and one comparison and never becomes a string.

import { lowerCase } from '../wire/character.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { FrameWriter } from './frame-writer.js'
import { encodeHuffman, huffmanLength } from './hpack-huffman.js'
import { copyBytes, DynamicTable, entryOverheadBytes, staticCount, staticTable, tableBytesMax } from './hpack-tables.js'

/** Longer values are hashed by their ends only: the comparison that follows has the last word. */
const hashedEndBytes = 16
const lineSlotCount = 256
/** Hashes of lines that went out as literals, of all connections: what comes a second time is worth an entry. */
const seenLines = new Int32Array(1024)
const seenMask = seenLines.length - 1

const staticSlotMask = 255
const staticSlots = new Uint8Array(staticSlotMask + 1)
const firstStatus = 8
const lastStatus = 14
const firstRegular = 15

const authorityIndex = 1
const methodIndex = 2
const pathIndex = 4
const schemeIndex = 6
for (const index of [authorityIndex, methodIndex, pathIndex, schemeIndex, firstStatus]) addStaticName(index)
for (let index = firstRegular; index <= staticCount; index++) addStaticName(index)

/** By status: the static entry that holds it, 0 where there is none. */
const statusIndexes = new Uint8Array(1000)
for (let index = firstStatus; index <= lastStatus; index++) statusIndexes[Number(staticTable.values[index])] = index

/** Indexes of names whose values are secrets: sent never-indexed, so that no hop compresses them (RFC 7541 §7.1.3). */
const isSecret = new Uint8Array(staticCount + 1)
for (const name of ['authorization', 'cookie', 'set-cookie', 'proxy-authorization']) {
  isSecret[staticTable.names.indexOf(name)] = 1
}

const literalIndexed = 0x40
const literalPlain = 0x00
const literalNever = 0x10

/** A line of our own, and every literal, is built here before it is encoded; one for the process, grown when needed. */
let scratch = Buffer.allocUnsafeSlow(16 * 1024)

/** The head of a request as it is encoded (RFC 9113 §8.3.1); texts are latin1 and already valid. */
export interface RequestHead {
  readonly method: string
  readonly scheme: string
  readonly authority: string
  readonly path: string
  /** Of an extended CONNECT (RFC 8441 §4). */
  readonly protocol: string | undefined
  readonly headers: HeaderBlock
}

/** Encodes the field sections of one direction of one connection. */
export class HpackEncoder {
  readonly #table: DynamicTable
  /** By hash of a line: serial + 1 of the entry that holds it, two ways; allocated with the first entry. */
  #lineSlots: Float64Array | undefined
  /** Table sizes to tell the decoder of before the next section; -1 for none. */
  #smallestBytes = -1
  #finalBytes = -1

  constructor(tableBytes: number = tableBytesMax) {
    this.#table = new DynamicTable(tableBytes)
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. */
  limit(settingBytes: number): void {
    const bytes = Math.min(settingBytes, tableBytesMax)
    if (this.#finalBytes === -1 && bytes === this.#table.limitBytes) return
    this.#smallestBytes = this.#smallestBytes === -1 ? bytes : Math.min(this.#smallestBytes, bytes)
    this.#finalBytes = bytes
    this.#table.resize(bytes)
  }

  /** Writes the head of a response; `out` gets room as needed. */
  encodeResponse(out: FrameWriter, status: number, headers: HeaderBlock): void {
    out.reserve(32)
    this.#writeResizes(out)
    this.#status(out, status)
    this.#lines(out, headers)
  }

  /** Writes the head of a request; `out` gets room as needed. */
  encodeRequest(out: FrameWriter, head: RequestHead): void {
    out.reserve(32)
    this.#writeResizes(out)
    this.#pseudo(out, ':method', head.method, methodIndex)
    this.#pseudo(out, ':scheme', head.scheme, schemeIndex)
    this.#pseudo(out, ':path', head.path, pathIndex)
    this.#pseudo(out, ':authority', head.authority, authorityIndex)
    if (head.protocol !== undefined) this.#added(out, ':protocol', head.protocol)
    this.#lines(out, head.headers)
  }

  /** Writes fields without pseudo-headers. */
  encodeTrailers(out: FrameWriter, trailers: HeaderBlock): void {
    out.reserve(32)
    this.#writeResizes(out)
    this.#lines(out, trailers)
  }

  #writeResizes(out: FrameWriter): void {
    if (this.#finalBytes === -1) return
    if (this.#smallestBytes < this.#finalBytes) writeInteger(out, 0x20, 0x1f, this.#smallestBytes)
    writeInteger(out, 0x20, 0x1f, this.#finalBytes)
    this.#smallestBytes = this.#finalBytes = -1
  }

  #status(out: FrameWriter, status: number): void {
    const index = statusIndexes[status] ?? 0
    if (index !== 0) {
      out.byte(0x80 | index)
      return
    }
    const length = scratch.write(`:status: ${status}`, 'latin1')
    this.#line(out, scratch, 0, 7, 9, length)
  }

  /** The static table has two values of most pseudo-headers, the first at `index`. */
  #pseudo(out: FrameWriter, name: string, value: string, index: number): void {
    const { names, values } = staticTable
    if (values[index] === value && value !== '') out.byte(0x80 | index)
    else if (names[index + 1] === name && values[index + 1] === value) out.byte(0x80 | (index + 1))
    else this.#added(out, name, value)
  }

  #lines(out: FrameWriter, headers: HeaderBlock): void {
    const { bytes, ids, added } = headers
    for (let line = 0; line < headers.count; line++) {
      if (ids[line] === Field.dropped) continue
      const nameEnd = headers.nameEndOf(line)
      this.#line(out, bytes, headers.startOf(line), nameEnd, headers.valueStartOf(line), headers.valueEndOf(line))
    }
    for (let at = 0; at < added.length; at += 2) this.#added(out, added[at] as string, added[at + 1] as string)
  }

  #added(out: FrameWriter, name: string, value: string): void {
    const valueStart = name.length + 2
    const valueEnd = valueStart + value.length
    growScratch(valueEnd + 2)
    writeText(scratch, name, 0)
    writeText(scratch, value, valueStart)
    this.#line(out, scratch, 0, name.length, valueStart, valueEnd)
  }

  // Plain parameters here and below: an object for each header would cost as much as the look-up.
  #line(out: FrameWriter, bytes: Buffer, start: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    out.reserve(nameEnd - start + valueEnd - valueStart + 24)
    let nameHash = 0
    for (let at = start; at < nameEnd; at++) {
      nameHash = (Math.imul(nameHash, 31) + (lowerCase[bytes[at] as number] as number)) | 0
    }
    const hash = hashOfValue(nameHash, bytes, valueStart, valueEnd)
    const serial = this.#find(hash, bytes, start, nameEnd, valueStart, valueEnd)
    if (serial !== -1) {
      writeInteger(out, 0x80, 0x7f, staticCount + this.#table.next - serial)
      return
    }
    this.#literal(out, buildLine(bytes, start, nameEnd, valueStart, valueEnd), nameEnd - start, nameHash, hash)
  }

  /** The serial of the entry with these bytes, -1 where there is none. */
  #find(hash: number, bytes: Buffer, start: number, nameEnd: number, valueStart: number, valueEnd: number): number {
    const slots = this.#lineSlots
    if (slots === undefined) return -1
    const slot = slotOf(hash)
    for (let way = 0; way < 2; way++) {
      const serial = (slots[slot ^ way] as number) - 1
      if (serial < this.#table.oldest || this.#table.noteOf(serial) !== hash) continue
      if (isSameLine(this.#table, serial, bytes, start, nameEnd, valueStart, valueEnd)) return serial
    }
    return -1
  }

  /** Writes the line that stands in `scratch` up to `lineLength`. */
  #literal(out: FrameWriter, lineLength: number, nameLength: number, nameHash: number, hash: number): void {
    const nameIndex = findStaticName(nameHash, nameLength)
    const form = nameIndex !== 0 && isSecret[nameIndex] === 1 ? literalNever : this.#formOf(hash, lineLength)
    writeInteger(out, form, form === literalIndexed ? 0x3f : 0x0f, nameIndex)
    if (nameIndex === 0) writeString(out, 0, nameLength)
    writeString(out, nameLength + 2, lineLength - 2)
    if (form === literalIndexed) this.#insert(hash, nameLength, lineLength)
  }

  #formOf(hash: number, lineLength: number): number {
    if ((lineLength + entryOverheadBytes) * 2 > this.#table.limitBytes) return literalPlain
    const slot = (hash ^ (hash >>> 16)) & seenMask
    if (seenLines[slot] === hash) return literalIndexed
    seenLines[slot] = hash
    return literalPlain
  }

  #insert(hash: number, nameLength: number, lineLength: number): void {
    this.#lineSlots ??= new Float64Array(lineSlotCount)
    const slots = this.#lineSlots
    const slot = slotOf(hash)
    // The way that holds the older entry gives room.
    const way = (slots[slot] as number) <= (slots[slot ^ 1] as number) ? slot : slot ^ 1
    slots[way] = this.#table.next + 1
    this.#table.insert(scratch, 0, nameLength, lineLength, hash)
  }
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 13)) & (lineSlotCount - 1)
}

function hashOfValue(seed: number, bytes: Buffer, start: number, end: number): number {
  let hash = (Math.imul(seed, 31) + (end - start)) | 0
  const headEnd = end - start > 2 * hashedEndBytes ? start + hashedEndBytes : end
  for (let at = start; at < headEnd; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0
  if (headEnd === end) return hash
  for (let at = end - hashedEndBytes; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0
  return hash
}

function isSameLine(
  table: DynamicTable,
  serial: number,
  bytes: Buffer,
  start: number,
  nameEnd: number,
  valueStart: number,
  valueEnd: number,
): boolean {
  const nameLength = nameEnd - start
  if (table.nameLengthOf(serial) !== nameLength) return false
  if (table.lineLengthOf(serial) !== nameLength + valueEnd - valueStart + 4) return false
  const stored = table.bytes
  let at = table.startOf(serial)
  for (let index = start; index < nameEnd; index++) {
    if (stored[at++] !== lowerCase[bytes[index] as number]) return false
  }
  at += 2
  for (let index = valueStart; index < valueEnd; index++) if (stored[at++] !== bytes[index]) return false
  return true
}

/** Builds the line in `scratch` with its name in lower case; returns its length. */
function buildLine(bytes: Buffer, start: number, nameEnd: number, valueStart: number, valueEnd: number): number {
  const nameLength = nameEnd - start
  const lineLength = nameLength + valueEnd - valueStart + 4
  growScratch(lineLength)
  for (let index = 0; index < nameLength; index++) scratch[index] = lowerCase[bytes[start + index] as number] as number
  if (bytes !== scratch) copyBytes(bytes, valueStart, valueEnd, scratch, nameLength + 2)
  scratch[nameLength] = 0x3a
  scratch[nameLength + 1] = 0x20
  scratch[lineLength - 2] = 0x0d
  scratch[lineLength - 1] = 0x0a
  return lineLength
}

/** The static index of the name that stands at the start of `scratch`, 0 where there is none. */
function findStaticName(hash: number, length: number): number {
  for (let slot = hash & staticSlotMask; staticSlots[slot] !== 0; slot = (slot + 1) & staticSlotMask) {
    const index = staticSlots[slot] as number
    const name = staticTable.names[index] as string
    if (name.length === length && startsWith(name)) return index
  }
  return 0
}

function startsWith(name: string): boolean {
  for (let at = 0; at < name.length; at++) if (scratch[at] !== name.charCodeAt(at)) return false
  return true
}

function addStaticName(index: number): void {
  const name = staticTable.names[index] as string
  let hash = 0
  for (let at = 0; at < name.length; at++) hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0
  let slot = hash & staticSlotMask
  while (staticSlots[slot] !== 0) slot = (slot + 1) & staticSlotMask
  staticSlots[slot] = index
}

/** Writes `scratch` from `start` to `end` as a string literal, Huffman coded where that is shorter. */
function writeString(out: FrameWriter, start: number, end: number): void {
  const coded = huffmanLength(scratch, start, end)
  if (coded < end - start) {
    writeInteger(out, 0x80, 0x7f, coded)
    out.at = encodeHuffman(scratch, start, end, out.bytes, out.at)
    return
  }
  writeInteger(out, 0x00, 0x7f, end - start)
  out.copy(scratch, start, end)
}

/** Writes an integer behind a prefix (RFC 7541 §5.1). */
function writeInteger(out: FrameWriter, form: number, mask: number, value: number): void {
  if (value < mask) {
    out.byte(form | value)
    return
  }
  out.byte(form | mask)
  let rest = value - mask
  for (; rest >= 128; rest >>>= 7) out.byte(0x80 | (rest & 0x7f))
  out.byte(rest)
}

function writeText(target: Buffer, text: string, at: number): void {
  for (let index = 0; index < text.length; index++) target[at + index] = text.charCodeAt(index)
}

function growScratch(bytes: number): void {
  if (scratch.length >= bytes) return
  scratch = Buffer.concat([scratch, Buffer.allocUnsafeSlow(bytes)])
}
