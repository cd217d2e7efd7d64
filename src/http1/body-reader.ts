// The body that a connection is receiving, as a source for whoever wants it: by length, in chunks, or until the end of the connection.
// Used by both sides; the connection feeds it bytes and is told to pause, resume or give up.
import { type BodySink, type BodySource, unknownLength } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'
import { ChunkedDecoder, type ChunkTarget } from './chunked-decoder.js'
import type { FieldLimits } from './field-lines.js'

/** The connection that feeds a reader. */
export interface BodyFeeder {
  /** Somebody has begun to want the body: what was held back may be fed. */
  onWanted(): void
  pauseReading(): void
  resumeReading(): void
  /** Nobody wants the rest. */
  onUnwanted(failure: Failure): void
}

/** How the end of a body is found. */
export type BodyFraming = 'length' | 'chunked' | 'until_close'

const nobody: BodySink = { write: () => true, end: () => undefined, abort: () => undefined }

/** A received body. */
export class BodyReader implements BodySource, ChunkTarget {
  readonly lengthBytes: number
  /** Bytes of content received, without framing. */
  receivedBytes = 0
  /** The last byte has been received. */
  isComplete = false
  readonly #feeder: BodyFeeder
  readonly #decoder: ChunkedDecoder | undefined
  #sink: BodySink | undefined
  #isBlocked = false
  #isAborted = false
  #failure: Failure | undefined

  constructor(feeder: BodyFeeder, options: { framing: BodyFraming; lengthBytes: number; limits: FieldLimits }) {
    this.#feeder = feeder
    this.lengthBytes = options.framing === 'length' ? options.lengthBytes : unknownLength
    this.#decoder = options.framing === 'chunked' ? new ChunkedDecoder(options.limits) : undefined
  }

  /** Whether fed bytes have somewhere to go. */
  get isWanted(): boolean {
    return this.#sink !== undefined
  }

  /** The sink has no room at the moment. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  flow(sink: BodySink): void {
    if (this.#failure !== undefined) return sink.abort(this.#failure)
    this.#sink = sink
    this.#feeder.onWanted()
  }

  /** Reads on for nobody. */
  discard(): void {
    this.flow(nobody)
  }

  resume(): void {
    this.#unblock()
  }

  abort(failure: Failure): void {
    if (this.#isAborted || this.isComplete) return
    this.#isAborted = true
    this.#feeder.onUnwanted(failure)
  }

  /** Takes bytes from `from` on; returns the offset behind the last that belongs to the body, -1 where its framing is broken. */
  feed(bytes: Buffer, from: number): number {
    if (this.#decoder !== undefined) return this.#feedChunked(this.#decoder, bytes, from)
    const end =
      this.lengthBytes === unknownLength
        ? bytes.length
        : Math.min(bytes.length, from + this.lengthBytes - this.receivedBytes)
    if (end > from) this.onChunk(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end))
    if (this.receivedBytes === this.lengthBytes) this.#finish()
    return end
  }

  onChunk(chunk: Buffer): void {
    this.receivedBytes += chunk.length
    if (this.#isAborted || this.#sink === undefined || this.#sink.write(chunk)) return
    this.#isBlocked = true
    this.#feeder.pauseReading()
  }

  /** The connection has ended: that completes a body without length and breaks every other. Returns whether it did. */
  onConnectionEnd(): boolean {
    const endsWithConnection = this.lengthBytes === unknownLength && this.#decoder === undefined
    if (endsWithConnection) this.#finish()
    return endsWithConnection
  }

  /** The rest will never come. */
  fail(failure: Failure): void {
    if (this.isComplete || this.#isAborted) return
    this.#isAborted = true
    this.#failure = failure
    this.#sink?.abort(failure)
  }

  #feedChunked(decoder: ChunkedDecoder, bytes: Buffer, from: number): number {
    const end = decoder.decode(bytes, from, this)
    if (end !== -1 && decoder.isComplete) this.#finish()
    return end
  }

  #finish(): void {
    if (this.isComplete) return
    this.isComplete = true
    this.#unblock()
    if (!this.#isAborted) this.#sink?.end(this.#decoder?.trailers)
  }

  /** A sink that has got all never asks for more: what stands behind the body must not wait for that. */
  #unblock(): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    this.#feeder.resumeReading()
  }
}
