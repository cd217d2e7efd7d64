// The body of an answer on its way from an endpoint. Made by its stream, which hears when nobody wants the
// rest of it.
import type { Failure } from '../wire/failure.js'
import { ReceivedBody, type ReceivedBodyHome } from './received-body.js'

/** The stream that a body belongs to. */
export interface ResponseBodyOwner {
  readonly id: number
  /** Nobody wants the rest. */
  bodyUnwanted(failure: Failure): void
}

/** A body whose rest can be refused. */
export class ResponseBody extends ReceivedBody {
  readonly #owner: ResponseBodyOwner

  constructor(home: ReceivedBodyHome, owner: ResponseBodyOwner, lengthBytes: number) {
    super(home, owner.id, lengthBytes)
    this.#owner = owner
  }

  override abort(failure: Failure): void {
    super.abort(failure)
    this.#owner.bodyUnwanted(failure)
  }
}
