// Writes frames into slabs of memory that many flushes share. Borrowed from a pool for as long as a connection has
// something to send, so that an idle connection holds no memory for it. What `take` gave away is never written again.

import { ErrorCode, FrameType, frameBytesMax, frameHeadBytes } from './frames.js'
import { copyBytes } from './hpack-tables.js'

// Four full DATA frames and their company, so that a large body costs one slab for each flush.
const slabBytes = 4 * (frameBytesMax + frameHeadBytes) + 4096
const pooledMax = 64
const pool: FrameWriter[] = []

/** A growing sequence of frames. `bytes` and `at` are open, because HPACK writes byte by byte. */
export class FrameWriter {
  bytes: Buffer = Buffer.allocUnsafeSlow(slabBytes)
  /** Offset of the next byte. */
  at = 0
  #start = 0

  /** A writer for one flush; give it back with `release` when its bytes are taken. */
  static acquire(): FrameWriter {
    return pool.pop() ?? new FrameWriter()
  }

  release(): void {
    if (pool.length < pooledMax) pool.push(this)
  }

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.at - this.#start
  }

  /** Makes room for `bytes` more; everything below needs room made before. */
  reserve(bytes: number): void {
    if (this.at + bytes <= this.bytes.length) return
    const pendingBytes = this.length
    const slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, (pendingBytes + bytes) * (pendingBytes > 0 ? 2 : 1)))
    slab.set(this.bytes.subarray(this.#start, this.at))
    this.bytes = slab
    this.#start = 0
    this.at = pendingBytes
  }

  /** What was written since the last `take`. */
  take(): Buffer {
    const taken = this.bytes.subarray(this.#start, this.at)
    this.#start = this.at
    return taken
  }

  byte(value: number): void {
    this.bytes[this.at++] = value
  }

  uint32(value: number): void {
    const { bytes, at } = this
    bytes[at] = value >>> 24
    bytes[at + 1] = value >>> 16
    bytes[at + 2] = value >>> 8
    bytes[at + 3] = value
    this.at = at + 4
  }

  copy(source: Uint8Array, start: number, end: number): void {
    copyBytes(source, start, end, this.bytes, this.at)
    this.at += end - start
  }

  /** The nine bytes before each payload (RFC 9113 §4.1). */
  frameHead(length: number, type: number, flags: number, streamId: number): void {
    const { bytes, at } = this
    bytes[at] = length >>> 16
    bytes[at + 1] = length >>> 8
    bytes[at + 2] = length
    bytes[at + 3] = type
    bytes[at + 4] = flags
    this.at = at + 5
    this.uint32(streamId)
  }

  rstStream(streamId: number, code: number): void {
    this.reserve(frameHeadBytes + 4)
    this.frameHead(4, FrameType.rstStream, 0, streamId)
    this.uint32(code)
  }

  windowUpdate(streamId: number, increment: number): void {
    this.reserve(frameHeadBytes + 4)
    this.frameHead(4, FrameType.windowUpdate, 0, streamId)
    this.uint32(increment)
  }

  /** `settings` is id, value, id, value, …; an acknowledgement has none. */
  settings(flags: number, settings: readonly number[]): void {
    const length = settings.length * 3
    this.reserve(frameHeadBytes + length)
    this.frameHead(length, FrameType.settings, flags, 0)
    for (let at = 0; at < settings.length; at += 2) {
      const id = settings[at] as number
      this.byte(id >>> 8)
      this.byte(id)
      this.uint32(settings[at + 1] as number)
    }
  }

  /** `payload` holds the eight bytes at `start`. */
  ping(flags: number, payload: Uint8Array, start: number): void {
    this.reserve(frameHeadBytes + 8)
    this.frameHead(8, FrameType.ping, flags, 0)
    this.copy(payload, start, start + 8)
  }

  /** `text` tells a person what was wrong; empty with `noError`. */
  goaway(lastStreamId: number, code: number, text: string): void {
    const debug = Buffer.from(code === ErrorCode.noError ? '' : text.slice(0, 128), 'latin1')
    this.reserve(frameHeadBytes + 8 + debug.length)
    this.frameHead(8 + debug.length, FrameType.goaway, 0, 0)
    this.uint32(lastStreamId)
    this.uint32(code)
    this.copy(debug, 0, debug.length)
  }
}
