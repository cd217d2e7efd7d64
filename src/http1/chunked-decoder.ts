// Decodes a chunked body (RFC 9112 §7.1) into the bytes it carries. Used by the body reader of both sides;
// every byte between the chunks has to be the one that the grammar wants, since two readings of it are a smuggled request.
import { hexValue } from '../wire/character.js'
import { HeaderBlock } from '../wire/header-block.js'
import { dropKnownFields } from '../wire/trailer-fields.js'
import { ChunkExtension } from './chunk-extension.js'
import { type FieldLimits, incomplete, scanFieldLines } from './field-lines.js'
import { HeadIntake, type HeadParser } from './head-intake.js'

/** Hexadecimal digits of a size: 13 of them stay exact in a double. */
const sizeDigitsMax = 13
/** Bytes of chunk extensions that one body may carry; they serve nobody but an attacker. */
const extensionBytesMax = 8 * 1024

const size = 0
const extension = 1
const sizeLineFeed = 2
const data = 3
const dataReturn = 4
const dataLineFeed = 5
const trailer = 6
const complete = 7

/** Takes the pieces that a decoder finds. */
export interface ChunkTarget {
  onChunk(chunk: Buffer): void
}

/** The field lines behind the last chunk; they come in pieces like a head. */
class TrailerSection implements HeadParser<FieldLimits> {
  readonly lines = new HeaderBlock()

  parse(bytes: Buffer, from: number, limits: FieldLimits): number {
    this.lines.reset(bytes)
    return scanFieldLines(bytes, from, this.lines, limits)
  }

  bytesMax(limits: FieldLimits): number {
    return limits.headerBytes
  }
}

/** The state of one chunked body. */
export class ChunkedDecoder {
  readonly #limits: FieldLimits
  #state = size
  #remaining = 0
  #digits = 0
  readonly #extension = new ChunkExtension()
  #extensionBytes = 0
  #section: TrailerSection | undefined
  #intake: HeadIntake<FieldLimits> | undefined
  /** The trailer section, once the body is complete; undefined where it is empty. */
  trailers: HeaderBlock | undefined

  constructor(limits: FieldLimits) {
    this.#limits = limits
  }

  get isComplete(): boolean {
    return this.#state === complete
  }

  /** Decodes from `from` on and returns the offset behind what belongs to the body, or -1 where the framing is broken. */
  decode(bytes: Buffer, from: number, target: ChunkTarget): number {
    let at = from
    while (at < bytes.length && this.#state !== complete) {
      if (this.#state === data) at = this.#takeData(bytes, at, target)
      else if (this.#state === trailer) at = this.#takeTrailers(bytes, at)
      else if (this.#takeByte(bytes[at] as number)) at++
      else return -1
      if (at === -1) return -1
    }
    return at
  }

  #takeData(bytes: Buffer, at: number, target: ChunkTarget): number {
    const end = Math.min(bytes.length, at + this.#remaining)
    this.#remaining -= end - at
    if (this.#remaining === 0) this.#state = dataReturn
    target.onChunk(bytes.subarray(at, end))
    return end
  }

  /** One byte of the framing; false where it is not the one that has to come. */
  #takeByte(byte: number): boolean {
    switch (this.#state) {
      case size:
        return this.#takeSizeByte(byte)
      case extension:
        if (byte === 0x0d) return this.#extension.mayEnd && this.#enter(sizeLineFeed)
        return ++this.#extensionBytes <= extensionBytesMax && this.#extension.take(byte)
      case sizeLineFeed:
        return byte === 0x0a && this.#startChunk()
      case dataReturn:
        return byte === 0x0d && this.#enter(dataLineFeed)
      default:
        return byte === 0x0a && this.#enter(size)
    }
  }

  #takeSizeByte(byte: number): boolean {
    const digit = hexValue[byte] as number
    if (digit !== 255) {
      this.#remaining = this.#remaining * 16 + digit
      return ++this.#digits <= sizeDigitsMax
    }
    if (this.#digits === 0) return false
    if (byte === 0x0d) return this.#enter(sizeLineFeed)
    return byte === 0x3b && this.#startExtension()
  }

  #startExtension(): true {
    this.#extension.start()
    return this.#enter(extension)
  }

  #startChunk(): boolean {
    this.#digits = 0
    return this.#enter(this.#remaining === 0 ? trailer : data)
  }

  #enter(state: number): true {
    this.#state = state
    return true
  }

  #takeTrailers(bytes: Buffer, at: number): number {
    this.#section ??= new TrailerSection()
    this.#intake ??= new HeadIntake(this.#section)
    const end = this.#intake.take(bytes, at, this.#limits)
    return end === incomplete ? bytes.length : this.#finish(this.#section.lines, end)
  }

  #finish(block: HeaderBlock, end: number): number {
    if (end < 0) return -1
    dropKnownFields(block)
    this.trailers = block.count === 0 ? undefined : block
    this.#state = complete
    return end
  }
}
