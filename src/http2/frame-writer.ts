// Writes frames into a slab of memory and hands them to a socket. Borrowed from a pool for as long as a connection has
// something to send, so that an idle connection holds no memory for it, and few slabs stay warm in the cache.
import type { Socket } from 'node:net'
import { ErrorCode, FrameType, frameBytesMax, frameHeadBytes } from './frames.js'
import { copyBytes } from './hpack-tables.js'

// Four full DATA frames and their company: what one flush writes of bodies.
const slabBytes = 4 * (frameBytesMax + frameHeadBytes) + 4096
const pooledMax = 64
const pool: FrameWriter[] = []

/** A sequence of frames. `bytes` and `at` are open, because HPACK writes byte by byte. */
export class FrameWriter {
  bytes: Buffer = Buffer.allocUnsafeSlow(slabBytes)
  /** Offset of the next byte, and with it the number of bytes written. */
  at = 0
  // One closure for a writer's whole life instead of one for each write.
  readonly #onWritten = (error?: Error | null) => {
    // After an error nobody can tell who still reads the slab: it must never carry another connection's bytes.
    if (!error) this.release()
  }

  /** A writer for one flush; it comes back with `send` or `release`. */
  static acquire(): FrameWriter {
    return pool.pop() ?? new FrameWriter()
  }

  /** Gives it back; what was written and not sent is gone. */
  release(): void {
    this.at = 0
    if (this.bytes.length === slabBytes && pool.length < pooledMax) pool.push(this)
  }

  /**
   * Hands what was written to `socket`; false where it has enough for now. The writer comes back by itself once the
   * socket has taken the bytes, and is not written to before.
   */
  send(socket: Socket): boolean {
    if (this.at > 0) return socket.write(this.bytes.subarray(0, this.at), this.#onWritten)
    this.release()
    return true
  }

  /** Makes room for `bytes` more; everything below needs room made before. */
  reserve(bytes: number): void {
    if (this.at + bytes <= this.bytes.length) return
    const slab = Buffer.allocUnsafeSlow((this.at + bytes) * 2)
    slab.set(this.bytes.subarray(0, this.at))
    this.bytes = slab
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
