// A request's body on its way to an endpoint, and whether another attempt could still have it. Used by forwarding.
import type { BodySink, BodySource } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'

/** A body that knows whether it is gone. */
export interface RequestBody extends BodySource {
  /** An attempt has begun to take it, and nobody keeps what was taken. */
  readonly isConsumed: boolean
}

/** A body that flows through untouched. */
export class PassingBody implements RequestBody {
  isConsumed = false
  readonly #source: BodySource

  constructor(source: BodySource) {
    this.#source = source
  }

  get lengthBytes(): number {
    return this.#source.lengthBytes
  }

  flow(sink: BodySink): void {
    this.isConsumed = true
    this.#source.flow(sink)
  }

  resume(): void {
    this.#source.resume()
  }

  abort(failure: Failure): void {
    this.#source.abort(failure)
  }
}
