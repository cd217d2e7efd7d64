// Attempts that have no stream yet: a switch of protocols waits for the endpoint's SETTINGS, which say whether it can be
// asked for at all (RFC 8441 §3). Made by the client connection.
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import type { Failure } from '../wire/failure.js'

/** The connection that opens the streams. */
export interface PendingOwner {
  /** Why a request will never have a stream here; undefined where it may. */
  refusalOf(request: OutgoingRequest): Failure | undefined
  canOpen(request: OutgoingRequest): boolean
  open(request: OutgoingRequest, observer: AttemptObserver): Attempt
  /** Something may have changed for those that wait. */
  settlePending(): void
}

/** The attempts of one connection that wait. */
export class PendingAttempts {
  readonly #owner: PendingOwner
  readonly #waiting = new Set<PendingAttempt>()

  constructor(owner: PendingOwner) {
    this.#owner = owner
  }

  get size(): number {
    return this.#waiting.size
  }

  add(request: OutgoingRequest, observer: AttemptObserver): Attempt {
    const pending = new PendingAttempt(request, observer, (gone) => this.#forget(gone))
    this.#waiting.add(pending)
    // Not now: nobody hears of an attempt before it has it.
    queueMicrotask(() => this.#owner.settlePending())
    return pending
  }

  /** Gives streams to those that can have one, and tells those that will have none. */
  settle(): void {
    for (const pending of [...this.#waiting]) {
      const refusal = this.#owner.refusalOf(pending.request)
      if (refusal === undefined && !this.#owner.canOpen(pending.request)) continue
      if (!this.#waiting.delete(pending)) continue
      if (refusal === undefined) pending.attempt = this.#owner.open(pending.request, pending.observer)
      else pending.observer.onFailure(refusal)
    }
  }

  /** None of them will have a stream. */
  fail(failure: Failure): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const pending of waiting) pending.observer.onFailure(failure)
  }

  #forget(pending: PendingAttempt): void {
    if (this.#waiting.delete(pending)) this.#owner.settlePending()
  }
}

/** An attempt before its stream. */
class PendingAttempt implements Attempt {
  readonly request: OutgoingRequest
  readonly observer: AttemptObserver
  /** The stream, once there is one. */
  attempt: Attempt | undefined
  readonly #forget: (pending: PendingAttempt) => void

  constructor(request: OutgoingRequest, observer: AttemptObserver, forget: (pending: PendingAttempt) => void) {
    this.request = request
    this.observer = observer
    this.#forget = forget
  }

  cancel(): void {
    this.#forget(this)
    this.attempt?.cancel()
  }
}
