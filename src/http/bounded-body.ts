// A request's body that may not be longer than its site allows: what exceeds that is broken off, so that it never looks complete
// to an endpoint. Used where the length of a body is not announced; an announced one is refused before it comes.
import type { BodySink, BodySource } from '../wire/body.js'
import { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { PassingBody } from './passing-body.js'

/** What a body that is longer than its site allows is answered with. */
export const bodyTooLarge = new Failure('body_too_large', 'more than limits.requestBodyBytes of the site')

/** A body of unknown length under a bound. */
export class BoundedBody extends PassingBody {
  readonly #bytesMax: number

  constructor(source: BodySource, bytesMax: number) {
    super(source)
    this.#bytesMax = bytesMax
  }

  protected sinkBefore(sink: BodySink): BodySink {
    return new BoundedSink({ source: this.source, sink, bytesMax: this.#bytesMax })
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
