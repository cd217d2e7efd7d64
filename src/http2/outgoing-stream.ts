// The sending half of one stream, on either side of a connection: a body waits here until the outbox takes it, frame by
// frame. Made by whoever opens the stream; decides nothing about frames.
import { type BodySink, type BodySource, unknownLength } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { FrameWriter } from './frame-writer.js'
import type { Outbox } from './outbox.js'
import type { Priority } from './priority.js'
import type { Sequence } from './schedule.js'

/** What the sending half of a stream begins with. */
export interface OutgoingStreamOptions {
  readonly id: number
  readonly priority: Priority
  readonly sendWindowBytes: number
}

/** The connection that a stream leaves on. */
export interface OutgoingStreamHome {
  readonly outbox: Outbox
  readonly eventMs: number
  tick(): number
}

const noChunks: Buffer[] = []
/** Chunks that wait as they came; behind them, small ones are copied together: a buffer for each byte would cost a hundred. */
const looseChunksMax = 32
const smallChunkBytes = 1024
const gatheredBytes = 16 * 1024

/** The sink of one outgoing body. */
export abstract class OutgoingStream implements BodySink {
  readonly id: number
  /** What whoever gets the body wants it to be among its neighbours. */
  priority: Priority
  bytesSent = 0
  /** What the peer lets us send on this stream; below zero after it shrank its initial window. */
  sendWindowBytes: number
  /** Bytes of the body that wait. */
  queuedBytes = 0
  /** When a byte of either body moved last. */
  movedMs: number
  /** Nothing happens here any more. */
  isClosed = false
  /** Nothing more will be queued; what waits is the end. */
  isSourceEnded = false
  /** Closed by a RST_STREAM of ours. */
  isResetHere = false
  /** Our END_STREAM was written. */
  isLocalEnded = false
  trailers: HeaderBlock | undefined
  // Kept by the schedule: whether and where the stream stands in it.
  isReady = false
  nextReady: OutgoingStream | undefined
  sequence: Sequence | undefined
  framesLeft = 0
  readonly #home: OutgoingStreamHome
  #isSourcePaused = false
  #source: BodySource | undefined
  #expectedBytes = unknownLength
  #chunks: Buffer[] = noChunks
  #chunkAt = 0
  #offset = 0
  /** The piece of memory at the end of the queue that small chunks are copied to; allocated with the first that has to wait long. */
  #gathered: Buffer | undefined
  #gatheredEnd = 0

  constructor(home: OutgoingStreamHome, options: OutgoingStreamOptions) {
    this.#home = home
    this.id = options.id
    this.priority = options.priority
    this.sendWindowBytes = options.sendWindowBytes
    this.movedMs = home.eventMs
  }

  /** The body stays incomplete. */
  abstract abort(failure: Failure): void

  /** Its END_STREAM was handed to the socket. */
  abstract sent(): void

  /** The stream ends without a word to the peer, who has ended it, or is gone. */
  abstract break(failure: Failure): void

  /** The body is not as long as its source announced. */
  abstract misframed(reason: string): void

  /** Ends the stream with RST_STREAM; both bodies are broken off. */
  resetWith(code: number, failure: Failure): void {
    if (this.isClosed) return
    this.isResetHere = true
    this.sendReset(code)
    this.break(failure)
  }

  /** Tells the peer that the stream is given up. */
  protected sendReset(code: number): void {
    this.#home.outbox.rstStream(this.id, code)
  }

  /** Lets a body flow into the queue. */
  sendFrom(source: BodySource): void {
    this.#source = source
    this.#expectedBytes = source.lengthBytes
    source.flow(this)
  }

  /** Forgets the source, and returns it where it has not ended. */
  dropSource(): BodySource | undefined {
    const source = this.#source
    this.#source = undefined
    return source
  }

  /** From now on it is the peer who is waited for. */
  beginToWait(): void {
    this.movedMs = this.#home.tick()
  }

  write(chunk: Buffer): boolean {
    if (this.isClosed || this.isSourceEnded) return true
    if (this.queuedBytes === 0) this.beginToWait()
    if (this.#chunks === noChunks) this.#chunks = [chunk]
    else if (this.#chunks.length < looseChunksMax || chunk.length > smallChunkBytes) this.#chunks.push(chunk)
    else this.#gather(chunk)
    this.queuedBytes += chunk.length
    this.#home.outbox.queued(this, chunk.length)
    if (this.#expectedBytes !== unknownLength && this.bytesSent + this.queuedBytes > this.#expectedBytes) {
      this.misframed('the body is longer than announced')
      return true
    }
    if (this.queuedBytes < this.#home.outbox.streamBoundBytes) return true
    if (!this.#isSourcePaused) this.#home.outbox.paused(this)
    this.#isSourcePaused = true
    return false
  }

  end(trailers: HeaderBlock | undefined): void {
    if (this.isClosed || this.isSourceEnded) return
    this.#source = undefined
    if (this.#expectedBytes !== unknownLength && this.bytesSent + this.queuedBytes !== this.#expectedBytes) {
      this.misframed('the body is shorter than announced')
      return
    }
    this.isSourceEnded = true
    // Lent here and written behind the last byte of the body, because HPACK wants its sections in the order sent.
    if (trailers !== undefined && trailers.count + trailers.added.length > 0) this.trailers = trailers.clone()
    this.#home.outbox.queued(this, 0)
  }

  /** The source may go on; called by the outbox when there is room again. */
  resumeSource(): void {
    this.#isSourcePaused = false
    this.#source?.resume()
  }

  /** Moves `bytes` of what waits into `out`. */
  fill(out: FrameWriter, bytes: number): void {
    let left = bytes
    while (left > 0) {
      const chunk = this.#chunks[this.#chunkAt] as Buffer
      const taken = Math.min(left, chunk.length - this.#offset)
      out.copy(chunk, this.#offset, this.#offset + taken)
      left -= taken
      this.#offset += taken
      if (this.#offset === chunk.length) this.#nextChunk()
    }
    this.queuedBytes -= bytes
    this.bytesSent += bytes
    this.sendWindowBytes -= bytes
    this.movedMs = this.#home.eventMs
  }

  /** Nothing that waits is sent any more. */
  closeQueue(): void {
    this.isClosed = true
    this.#home.outbox.dropped(this.queuedBytes)
    this.queuedBytes = 0
    this.#chunks = noChunks
    this.#gathered = undefined
  }

  /** Appends to what is gathered at the end of the queue; where the first bytes of that have left, they stay where they are. */
  #gather(chunk: Buffer): void {
    const last = this.#chunks.length - 1
    const gathered = this.#gathered
    if (gathered !== undefined && this.#chunks[last]?.buffer === gathered.buffer) {
      const end = this.#gatheredEnd + chunk.length
      if (end <= gathered.length) {
        chunk.copy(gathered, this.#gatheredEnd)
        this.#chunks[last] = gathered.subarray(0, end)
        this.#gatheredEnd = end
        return
      }
    }
    this.#gathered = Buffer.allocUnsafeSlow(gatheredBytes)
    this.#gatheredEnd = chunk.copy(this.#gathered)
    this.#chunks.push(this.#gathered.subarray(0, this.#gatheredEnd))
  }

  #nextChunk(): void {
    this.#offset = 0
    this.#chunkAt++
    if (this.#chunkAt === this.#chunks.length) {
      this.#chunks.length = 0
      this.#chunkAt = 0
      this.#gathered = undefined
    } else if (this.#chunkAt >= looseChunksMax) {
      // A queue that is never empty must not keep what has left it.
      this.#chunks.splice(0, this.#chunkAt)
      this.#chunkAt = 0
    }
  }
}
