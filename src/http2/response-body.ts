// The body of an answer on its way from an endpoint. Made by its stream, which hears when the client's side goes on or
// gives up.
import type { Failure } from '../wire/failure.js'
import { ReceivedBody, type ReceivedBodyHome } from './received-body.js'

/** The stream that a body belongs to. */
export interface ResponseBodyOwner {
  readonly id: number
  /** The sink has room again. */
  bodyTaken(): void
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

  override resume(): void {
    this.#owner.bodyTaken()
    super.resume()
  }

  override abort(failure: Failure): void {
    super.abort(failure)
    this.#owner.bodyUnwanted(failure)
  }
}
