// A request's body that may not be longer than its site allows: what exceeds that is broken off, so that it never looks complete
// to an endpoint. Used where the length of a body is not announced; an announced one is refused before it comes.
import { type BodySink, type BodySource, unknownLength } from '../wire/body.js'
import { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'

/** What a body that is longer than its site allows is answered with. */
export const bodyTooLarge = new Failure('body_too_large', 'more than limits.requestBodyBytes of the site')

/** A body under a bound. */
export class BoundedBody implements BodySource {
  readonly lengthBytes = unknownLength
  readonly #source: BodySource
  readonly #bytesMax: number

  constructor(source: BodySource, bytesMax: number) {
    this.#source = source
    this.#bytesMax = bytesMax
  }

  flow(sink: BodySink): void {
    this.#source.flow(new BoundedSink({ source: this.#source, sink, bytesMax: this.#bytesMax }))
  }

  resume(): void {
    this.#source.resume()
  }

  abort(failure: Failure): void {
    this.#source.abort(failure)
  }
}

/** Counts what passes. */
class BoundedSink implements BodySink {
  readonly #source: BodySource
  readonly #sink: BodySink
  #bytesLeft: number

  constructor({ source, sink, bytesMax }: { source: BodySource; sink: BodySink; bytesMax: number }) {
    this.#source = source
    this.#sink = sink
    this.#bytesLeft = bytesMax
  }

  write(chunk: Buffer): boolean {
    if (this.#bytesLeft < 0) return true
    this.#bytesLeft -= chunk.length
    if (this.#bytesLeft >= 0) return this.#sink.write(chunk)
    this.#source.abort(bodyTooLarge)
    this.#sink.abort(bodyTooLarge)
    return true
  }

  end(trailers: HeaderBlock | undefined): void {
    if (this.#bytesLeft >= 0) this.#sink.end(trailers)
  }

  abort(failure: Failure): void {
    if (this.#bytesLeft >= 0) this.#sink.abort(failure)
  }
}
