// Which way the body of a request goes to an endpoint. A small one is held until it is whole, so that half a request never
// reaches an endpoint and a whole one can be sent again; every other flows through as it comes. Used by forwarding.
import { type BodySink, type BodySource, unknownLength } from '../wire/body.js'
import type { Request } from '../wire/downstream.js'
import type { Failure } from '../wire/failure.js'
import { type HeldBodies, HeldBody } from './held-body.js'
import { KeptBody } from './kept-body.js'
import type { RequestBody } from './request-body.js'

/** The body of a request as its attempts take it; a `HeldBody` is to be told to gather itself first. */
export function chosenBody(request: Request, source: BodySource, bounds: HeldBodies): RequestBody {
  if (request.expectsContinue) return new PassingBody(source)
  if (isDialogue(request, source)) return new KeptBody(source, bounds.bytesMax)
  const isSmall = source.lengthBytes === unknownLength || source.lengthBytes <= bounds.bytesMax
  return isSmall ? new HeldBody(source, bounds) : new PassingBody(source)
}

// On HTTP/2 a body without a length is how both sides of a stream talk at
// once (gRPC): its client may wait for an answer before it ends.
function isDialogue({ protocol }: Request, { lengthBytes }: BodySource): boolean {
  return protocol === 'h2' && lengthBytes === unknownLength
}

/** A body that flows through untouched: a large one, or that of a client that waits for a 100 before it sends any. */
class PassingBody implements RequestBody {
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

  release(): void {
    // Nothing is kept.
  }

  resume(): void {
    this.#source.resume()
  }

  abort(failure: Failure): void {
    this.#source.abort(failure)
  }
}
