// A body that flows through as it comes while a copy of its beginning is kept: what an endpoint has refused to look at can be sent
// again, although nobody could wait for its end. Used for request bodies of HTTP/2 without a length (gRPC).
import type { BodySink, BodySource } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { BodyIntake, type FilledBody, keptChunksMax } from './body-intake.js'
import type { RequestBody } from './request-body.js'

/** A body that can be taken anew until more of it has passed than is kept, or its exchange is decided. */
export class KeptBody implements RequestBody, FilledBody {
  readonly #source: BodySource
  readonly #bytesMax: number
  /** Undefined once it is kept no more. */
  #kept: Buffer[] | undefined = []
  #keptBytes = 0
  #trailers: HeaderBlock | undefined
  /** Who takes it; undefined between two attempts. */
  #sink: BodySink | undefined
  #isFlowing = false
  #isBlocked = false
  #isEnded = false
  #failure: Failure | undefined
  /** Why the last attempt takes no more. */
  #unwanted: Failure | undefined

  constructor(source: BodySource, bytesMax: number) {
    this.#source = source
    this.#bytesMax = bytesMax
  }

  get lengthBytes(): number {
    return this.#source.lengthBytes
  }

  get isConsumed(): boolean {
    return this.#kept === undefined
  }

  flow(sink: BodySink): void {
    if (this.#failure !== undefined) return sink.abort(this.#failure)
    this.#sink = sink
    this.#unwanted = undefined
    if (this.#isFlowing) return this.#repeat(sink, this.#kept ?? [])
    this.#isFlowing = true
    this.#source.flow(new BodyIntake(this))
  }

  resume(): void {
    this.#isBlocked = false
    this.#source.resume()
  }

  /** Another attempt may want what this one does not. */
  abort(failure: Failure): void {
    if (this.#kept === undefined) return this.#source.abort(failure)
    this.#sink = undefined
    this.#unwanted = failure
  }

  release(): void {
    const unwanted = this.#unwanted
    this.#kept = undefined
    this.#unwanted = undefined
    if (unwanted !== undefined && !this.#isEnded) this.#source.abort(unwanted)
  }

  take(chunk: Buffer): boolean {
    const sink = this.#sink
    if (this.#kept !== undefined) this.#keep(this.#kept, chunk)
    if (sink?.write(chunk) === true) return true
    this.#isBlocked = true
    return false
  }

  finish(trailers: HeaderBlock | undefined): void {
    this.#isEnded = true
    if (this.#kept !== undefined) this.#trailers = trailers?.clone()
    this.#sink?.end(trailers)
  }

  break(failure: Failure): void {
    this.#failure = failure
    this.#kept = undefined
    this.#sink?.abort(failure)
  }

  #repeat(sink: BodySink, chunks: readonly Buffer[]): void {
    let isRoomy = true
    for (const chunk of chunks) isRoomy = sink.write(chunk) && isRoomy
    if (this.#isEnded) sink.end(this.#trailers)
    else if (isRoomy && this.#isBlocked) this.resume()
    else if (!isRoomy) this.#isBlocked = true
  }

  // Copies: a chunk of one byte keeps all of the memory alive that it was read into.
  #keep(kept: Buffer[], chunk: Buffer): void {
    this.#keptBytes += chunk.length
    // What comes while nobody takes it is the little that had been read already, and is lost otherwise.
    if (this.#keptBytes > this.#bytesMax && this.#sink !== undefined) {
      this.#kept = undefined
      return
    }
    if (kept.length === keptChunksMax) kept.splice(0, kept.length, Buffer.concat(kept))
    kept.push(Buffer.from(chunk))
  }
}
