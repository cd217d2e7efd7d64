// Gathers what one exchange or connection has to say to a socket, so that a head and the first bytes of its body leave in one write.
// Used by both sides of HTTP/1; small parts are copied together, large ones pass through uncopied.
import type { Socket } from 'node:net'
import { ByteWriter } from './byte-writer.js'
import { flushAtEndOfTurn } from './turn.js'

/** A part of this size or more is worth a write of its own, in bytes. */
const largePartBytes = 16 * 1024

const joined = new ByteWriter()

/** Outgoing bytes of one socket. A part is never changed after it was given. */
export class SocketWriter {
  readonly #socket: Socket
  readonly #parts: Buffer[] = []
  #isScheduled = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Takes a part; it leaves with `flush`, or at the end of the turn at the latest. */
  push(part: Buffer): void {
    this.#parts.push(part)
    if (this.#isScheduled) return
    this.#isScheduled = true
    flushAtEndOfTurn(this)
  }

  /** Takes a chunk of a body: a large one leaves now, small ones wait for each other. False: the socket is full. */
  pushBody(chunk: Buffer): boolean {
    if (chunk.length < largePartBytes) {
      this.push(chunk)
      return !this.#socket.writableNeedDrain
    }
    this.#parts.push(chunk)
    this.#send()
    return !this.#socket.writableNeedDrain
  }

  /** Writes everything that was taken. */
  flush(): void {
    this.#isScheduled = false
    this.#send()
  }

  /** Takes the last part and writes everything. */
  finish(part: Buffer): void {
    this.#parts.push(part)
    this.#send()
  }

  #send(): void {
    const parts = this.#parts
    if (parts.length === 0) return
    if (!this.#socket.destroyed) this.#socket.write(parts.length === 1 ? (parts[0] as Buffer) : join(parts))
    parts.length = 0
  }
}

/** The parts in one piece of memory; a slab for many is cheaper than a buffer for each. */
function join(parts: readonly Buffer[]): Buffer {
  let bytes = 0
  for (const part of parts) bytes += part.length
  joined.reserve(bytes)
  for (const part of parts) joined.copy(part, 0, part.length)
  return joined.take()
}
