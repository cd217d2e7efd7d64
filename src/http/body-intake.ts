// The side of a request's body that the client fills, for bodies that keep what comes. Used by held and kept bodies.
import type { BodySink } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'

/** A body that is filled. */
export interface FilledBody {
  /** Takes a chunk from the client; false where it has to stop. */
  take(chunk: Buffer): boolean
  /** The client has sent all. */
  finish(trailers: HeaderBlock | undefined): void
  /** The rest will not come. */
  break(failure: Failure): void
}

/** More chunks than these are copied together: many tiny ones would cost more memory than their bytes. */
export const keptChunksMax = 64

/** Fills a body. */
export class BodyIntake implements BodySink {
  readonly #body: FilledBody

  constructor(body: FilledBody) {
    this.#body = body
  }

  write(chunk: Buffer): boolean {
    return this.#body.take(chunk)
  }

  end(trailers: HeaderBlock | undefined): void {
    this.#body.finish(trailers)
  }

  abort(failure: Failure): void {
    this.#body.break(failure)
  }
}
