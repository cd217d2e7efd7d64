// Takes a head out of what a connection receives, whole or in pieces. Used by both sides, which bring their parser.
import { HeadBuffer } from './head-buffer.js'

/** Parses a head: the offset behind it, 0 where bytes are missing, -1 where it is refused. */
export interface HeadParser<Limits> {
  parse(bytes: Buffer, from: number, limits: Limits): number
  /** Bytes after which no head can be complete within its limits, so that parsing again refuses it. */
  bytesMax(limits: Limits): number
}

/** The head that is coming on one connection. */
export class HeadIntake<Limits> {
  readonly #parser: HeadParser<Limits>
  #buffer: HeadBuffer | undefined

  constructor(parser: HeadParser<Limits>) {
    this.#parser = parser
  }

  /** A head has begun and is not complete. */
  get isPartial(): boolean {
    return this.#buffer !== undefined
  }

  /** Parses what starts at `from`. Returns the offset behind the head, 0 where all was taken and more is needed, or -1. */
  take(bytes: Buffer, from: number, limits: Limits): number {
    if (this.#buffer !== undefined) return this.#takeLate(this.#buffer, { bytes, from, limits })
    const end = this.#parser.parse(bytes, from, limits)
    if (end === 0) {
      this.#buffer = new HeadBuffer()
      this.#buffer.append(bytes.subarray(from))
    }
    return end
  }

  #takeLate(buffer: HeadBuffer, { bytes, from, limits }: { bytes: Buffer; from: number; limits: Limits }): number {
    const before = buffer.length
    buffer.append(bytes.subarray(from))
    if (!buffer.isWorthParsing() && buffer.length <= this.#parser.bytesMax(limits)) return 0
    const end = this.#parser.parse(buffer.bytes, 0, limits)
    if (end <= 0) return end
    this.#buffer = undefined
    return from + end - before
  }
}
