// Cuts what a socket brings into frames, out of the chunk that it came in; only a frame that is split over chunks is
// copied. Bodies are handed on as they come, without waiting for the end of their frame.
import { ErrorCode, Flag, FrameType, frameBytesMax, frameHeadBytes, readUint24, readUint31 } from './frames.js'

/** Takes the frames of one connection. */
export interface FrameConsumer {
  /** A whole frame of any type but DATA; its payload stands at `start` to `end` during the call. */
  onFrame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void
  /** A DATA frame begins: `dataBytes` of content, `frameBytes` as flow control counts. */
  onDataStart(flags: number, streamId: number, dataBytes: number, frameBytes: number): void
  /** Content of the DATA frame; nobody writes to it any more. */
  onData(chunk: Buffer): void
  onDataEnd(): void
  /** The framing itself is wrong; `code` is the connection error that it is. */
  onBadFrame(code: number, reason: string): void
}

/** The state of one direction of one connection. */
export class FrameReader {
  readonly #consumer: FrameConsumer
  #isStopped = false
  // The beginning of a frame whose rest has not come.
  #carry: Buffer | undefined
  #carryLength = 0
  // The rest of the DATA frame that is being handed on.
  #isInData = false
  #dataLeft = 0
  #paddingLeft = 0

  constructor(consumer: FrameConsumer) {
    this.#consumer = consumer
  }

  /** Nothing more is handed on. */
  stop(): void {
    this.#isStopped = true
    this.#carry = undefined
  }

  /** A frame other than DATA has begun and is not whole. */
  get isWithinFrame(): boolean {
    return this.#carry !== undefined
  }

  /** Takes what the socket brought, from `from` on. */
  push(chunk: Buffer, from: number): void {
    let at = this.#carry === undefined ? from : this.#completeCarry(chunk, from)
    while (!this.#isStopped) {
      if (this.#isInData) at = this.#passData(chunk, at)
      if (this.#isInData || at >= chunk.length) return
      const headBytes = headBytesOf(chunk, at)
      if (at + headBytes > chunk.length) break
      const frameBytes = headBytes + this.#restBytes(chunk, at)
      if (this.#isStopped) return
      if (at + frameBytes > chunk.length) break
      this.#dispatch(chunk, at)
      at += frameBytes
    }
    if (!this.#isStopped) this.#carryOver(chunk, at)
  }

  #carryOver(chunk: Buffer, at: number): void {
    // A frame that has begun is as large as its head says; a head that has begun is small.
    const isHeadWhole = at + headBytesOf(chunk, at) <= chunk.length
    this.#carry = Buffer.allocUnsafe(isHeadWhole ? frameHeadBytes + readUint24(chunk, at) : frameHeadBytes + 1)
    this.#carryLength = chunk.copy(this.#carry, 0, at)
  }

  /** Fills up the frame that an earlier chunk began; returns where the chunk goes on behind it. */
  #completeCarry(chunk: Buffer, from: number): number {
    let at = from
    while (this.#carry !== undefined) {
      const neededBytes = this.#carryNeeds(this.#carry)
      if (neededBytes < 0) return at
      const missing = neededBytes - this.#carryLength
      if (missing === 0) {
        const whole = this.#carry
        this.#carry = undefined
        this.#dispatch(whole, 0)
        return at
      }
      if (at === chunk.length) return at
      if (neededBytes > this.#carry.length) this.#growCarry(neededBytes)
      const copied = chunk.copy(this.#carry, this.#carryLength, at, at + missing)
      this.#carryLength += copied
      at += copied
    }
    return at
  }

  /** Bytes that must be there before the carried frame can be handed on; -1 where it is not a frame. */
  #carryNeeds(carry: Buffer): number {
    if (this.#carryLength < frameHeadBytes) return frameHeadBytes
    const headBytes = headBytesOf(carry, 0)
    if (this.#carryLength < headBytes) return headBytes
    const restBytes = this.#restBytes(carry, 0)
    return this.#isStopped ? -1 : headBytes + restBytes
  }

  #growCarry(bytes: number): void {
    const grown = Buffer.allocUnsafe(bytes)
    this.#carry?.copy(grown, 0, 0, this.#carryLength)
    this.#carry = grown
  }

  /** Bytes behind the head that must be there at once: the payload, but not that of DATA. */
  #restBytes(bytes: Buffer, at: number): number {
    const length = readUint24(bytes, at)
    if (length > frameBytesMax) this.#consumer.onBadFrame(ErrorCode.frameSizeError, 'a frame larger than announced')
    return bytes[at + 3] === FrameType.data ? 0 : length
  }

  #dispatch(bytes: Buffer, at: number): void {
    const type = bytes[at + 3] as number
    const flags = bytes[at + 4] as number
    const streamId = readUint31(bytes, at + 5)
    const length = readUint24(bytes, at)
    if (type === FrameType.data) {
      this.#startData(flags, streamId, length, bytes, at)
      return
    }
    const start = at + frameHeadBytes
    this.#consumer.onFrame(type, flags, streamId, bytes, start, start + length)
  }

  #startData(flags: number, streamId: number, length: number, bytes: Buffer, at: number): void {
    const isPadded = hasPadding(bytes, at)
    const paddingBytes = isPadded ? (bytes[at + frameHeadBytes] as number) : 0
    const dataBytes = length - (isPadded ? 1 : 0) - paddingBytes
    if (dataBytes < 0 || (flags & Flag.padded && length === 0)) {
      this.#consumer.onBadFrame(ErrorCode.protocolError, 'more padding than payload')
      return
    }
    this.#isInData = true
    this.#dataLeft = dataBytes
    this.#paddingLeft = paddingBytes
    this.#consumer.onDataStart(flags, streamId, dataBytes, length)
  }

  #passData(chunk: Buffer, from: number): number {
    const dataEnd = Math.min(chunk.length, from + this.#dataLeft)
    if (dataEnd > from) {
      this.#dataLeft -= dataEnd - from
      this.#consumer.onData(chunk.subarray(from, dataEnd))
    }
    const end = Math.min(chunk.length, dataEnd + (this.#dataLeft === 0 ? this.#paddingLeft : 0))
    this.#paddingLeft -= end - dataEnd
    if (this.#dataLeft === 0 && this.#paddingLeft === 0) {
      this.#isInData = false
      this.#consumer.onDataEnd()
    }
    return end
  }
}

/** The head, and for padded DATA the byte that says how much padding there is. */
function headBytesOf(bytes: Buffer, at: number): number {
  return at + frameHeadBytes <= bytes.length && hasPadding(bytes, at) ? frameHeadBytes + 1 : frameHeadBytes
}

function hasPadding(bytes: Buffer, at: number): boolean {
  return (
    bytes[at + 3] === FrameType.data && ((bytes[at + 4] as number) & Flag.padded) !== 0 && readUint24(bytes, at) > 0
  )
}
