// A connection that is being made for whoever waits in a pool. Used by pools, which count on it for some requests.
import type { Failure } from '../wire/failure.js'
import type { DialObserver } from './dial.js'
import type { EstablishedTransport } from './transport.js'

/** The pool that a connection is made for. */
export interface PoolDialOwner {
  onConnected(dial: PoolDial, transport: EstablishedTransport): void
  onDialFailed(dial: PoolDial, failure: Failure): void
}

/** One connection in the making. */
export class PoolDial implements DialObserver {
  /** Requests that it is expected to have room for. */
  readonly room: number
  readonly #owner: PoolDialOwner
  #pending: { cancel(): void } | undefined

  constructor(owner: PoolDialOwner, room: number) {
    this.#owner = owner
    this.room = room
  }

  /** Takes what is under way. */
  start(pending: { cancel(): void }): void {
    this.#pending = pending
  }

  /** Nobody waits for it any more. */
  cancel(): void {
    this.#pending?.cancel()
  }

  onConnected(transport: EstablishedTransport): void {
    this.#owner.onConnected(this, transport)
  }

  onFailure(failure: Failure): void {
    this.#owner.onDialFailed(this, failure)
  }
}
