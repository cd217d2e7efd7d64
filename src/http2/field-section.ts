// One field section as HPACK delivers it: a header block beside its pseudo-headers, with a verdict (RFC 9113 §8.2, §8.3).
// The decoder fills it, the connection reads it. Bounded: what is over the limit is counted and not stored.
import { Field } from '../wire/field-names.js'
import { HeaderBlock } from '../wire/header-block.js'
import { Pseudo, Tag } from './field-tag.js'
import { copyBytes, entryOverheadBytes, lineOverheadBytes, tableBytesMax } from './hpack-tables.js'

/** Which fields may stand in a section. */
export type SectionKind = 'request' | 'response' | 'trailers'

/** What a section may hold. */
export interface SectionLimits {
  readonly headerBytes: number
  readonly headerCount: number
}

const connectionSpecific = new Uint8Array(256)
for (const id of [Field.connection, Field.keepAlive, Field.proxyConnection, Field.transferEncoding, Field.upgrade]) {
  connectionSpecific[id] = 1
}
const cookiePrefix = Buffer.from('cookie: ')

/** The fields of one section. One object serves a whole process, because a section is lent for one call only. */
export class FieldSection {
  readonly block = new HeaderBlock()
  /** Where lines are built; `at` is where the next one goes. */
  bytes: Buffer = Buffer.allocUnsafeSlow(16 * 1024)
  at = 0
  method: string | undefined
  scheme: string | undefined
  authority: string | undefined
  path: string | undefined
  protocol: string | undefined
  status: string | undefined
  /** Why the section is malformed. */
  fault: string | undefined
  /** There was more than the limits allow; what is stored is not the whole. */
  isTooLarge = false
  #kind: SectionKind = 'request'
  #limits: SectionLimits = { headerBytes: 0, headerCount: 0 }
  #listBytes = 0
  #regularCount = 0
  #crumbCount = 0
  /** One bit for each known name (below 32) that occurs. */
  #seen = 0
  // Lines that are neighbours in the dynamic table are copied together: on a busy connection most of a head is one copy.
  #runBytes: Buffer | undefined
  #runStart = 0
  #runEnd = 0

  /** Forgets what it holds and makes room for a compressed section of `sourceBytes`. */
  begin(kind: SectionKind, sourceBytes: number, limits: SectionLimits): void {
    // Twice the limit, because joined cookie crumbs stand beside the crumbs; twice the source, because Huffman expands.
    const neededBytes = limits.headerBytes * 2 + sourceBytes * 2 + tableBytesMax
    if (this.bytes.length < neededBytes) this.bytes = Buffer.allocUnsafeSlow(neededBytes)
    this.block.reset(this.bytes)
    this.at = 0
    this.#kind = kind
    this.#limits = limits
    this.method = this.scheme = this.authority = this.path = this.protocol = this.status = undefined
    this.fault = undefined
    this.isTooLarge = false
    this.#listBytes = this.#regularCount = this.#crumbCount = this.#seen = 0
    this.#runBytes = undefined
    this.#runStart = this.#runEnd = 0
  }

  /** Whether a line with this known name (below 32) occurs. */
  has(id: number): boolean {
    return (this.#seen & (1 << id)) !== 0
  }

  /** Whether more than one cookie line came (RFC 9113 §8.2.3). */
  get hasCrumbs(): boolean {
    return this.#crumbCount > 1
  }

  /** Takes a pseudo-header. */
  takePseudo(tag: number, value: string, nameLength: number): void {
    this.#count(nameLength + value.length)
    if (this.#regularCount > 0) this.#refuse('a pseudo-header behind a header')
    switch (tag) {
      case Pseudo.method:
        this.#once(this.method, 'request')
        this.method = value
        return
      case Pseudo.path:
        this.#once(this.path, 'request')
        this.path = value
        return
      case Pseudo.scheme:
        this.#once(this.scheme, 'request')
        this.scheme = value
        return
      case Pseudo.authority:
        this.#once(this.authority, 'request')
        this.authority = value
        return
      case Pseudo.protocol:
        this.#once(this.protocol, 'request')
        this.protocol = value
        return
      default:
        this.#once(this.status, 'response')
        this.status = value
    }
  }

  /** Takes the line that was built at `at`. */
  takeBuilt(nameLength: number, lineLength: number, tag: number): void {
    this.#regularCount++
    if (tag >= Tag.badName) this.#refuse(tag & Tag.badName ? 'a bad field name' : 'a bad field value')
    if (!this.#count(lineLength - lineOverheadBytes) || tag > 255) return
    const start = this.at
    const nameEnd = start + nameLength
    const lineEnd = start + lineLength
    this.block.push(start, nameEnd, nameEnd + 2, lineEnd - 2, lineEnd, tag)
    this.at = lineEnd
    if (tag !== Field.other) this.#takeKnown(tag)
  }

  /** Takes a line that stands in a table. */
  takeStored(table: Buffer, start: number, nameLength: number, lineLength: number, tag: number): void {
    if (table !== this.#runBytes || start !== this.#runEnd) {
      this.settle()
      this.#runBytes = table
      this.#runStart = start
      this.#runEnd = start
    }
    const before = this.at
    this.takeBuilt(nameLength, lineLength, tag)
    if (this.at === before) return
    this.#runEnd = start + lineLength
  }

  /** Copies what `takeStored` put off; before anything is built at `at`, and before a table changes. */
  settle(): void {
    const length = this.#runEnd - this.#runStart
    if (this.#runBytes !== undefined && length > 0) {
      copyBytes(this.#runBytes, this.#runStart, this.#runEnd, this.bytes, this.at - length)
    }
    this.#runBytes = undefined
    this.#runStart = this.#runEnd = 0
  }

  /** Judges what only bytes can tell; called once, when all is settled. */
  finish(): void {
    if (!this.has(Field.te)) return
    for (let at = this.block.find(Field.te); at !== -1; at = this.block.find(Field.te, at + 1)) {
      if (!this.block.hasValue(at, 'trailers')) this.#refuse('te is not trailers')
    }
  }

  /** Replaces the cookie crumbs by one line, as every other wire has it (RFC 9113 §8.2.3). */
  joinCookies(): void {
    const { block, bytes } = this
    const start = this.at
    let at = start + cookiePrefix.copy(bytes, start)
    for (let line = block.find(Field.cookie); line !== -1; line = block.find(Field.cookie, line + 1)) {
      if (at > start + cookiePrefix.length) {
        bytes[at++] = 0x3b
        bytes[at++] = 0x20
      }
      at += bytes.copy(bytes, at, block.valueStartOf(line), block.valueEndOf(line))
    }
    bytes[at] = 0x0d
    bytes[at + 1] = 0x0a
    block.dropAll(Field.cookie)
    const nameEnd = start + cookiePrefix.length - 2
    block.push(start, nameEnd, nameEnd + 2, at, at + 2, Field.cookie)
    this.at = at + 2
  }

  #takeKnown(id: number): void {
    if (connectionSpecific[id] === 1) this.#refuse('a connection-specific header')
    if (id === Field.cookie) this.#crumbCount++
    if (id < 32) this.#seen |= 1 << id
  }

  #once(earlier: string | undefined, kind: SectionKind): void {
    if (this.#kind !== kind) this.#refuse(`a pseudo-header in ${this.#kind}`)
    else if (earlier !== undefined) this.#refuse('a pseudo-header twice')
  }

  /** Counts one field as SETTINGS_MAX_HEADER_LIST_SIZE does (RFC 9113 §6.5.2); crumbs count as one line. */
  #count(fieldBytes: number): boolean {
    this.#listBytes += fieldBytes + entryOverheadBytes
    const lineCount = this.#regularCount - Math.max(0, this.#crumbCount - 1)
    if (this.#listBytes > this.#limits.headerBytes || lineCount > this.#limits.headerCount) this.isTooLarge = true
    return !this.isTooLarge
  }

  #refuse(reason: string): void {
    this.fault ??= reason
  }
}
