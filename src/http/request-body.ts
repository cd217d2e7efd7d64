// A request's body on its way to an endpoint, as the attempts of its exchange see it: some can be taken more than once.
// Used by forwarding.
import type { BodySource } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'

/** A body that knows whether it is gone. */
export interface RequestBody extends BodySource {
  /** An attempt has begun to take it, and nobody keeps what was taken. */
  readonly isConsumed: boolean
  /** There will be no other attempt. */
  release(): void
}

/** Hears once that a body may be sent on, or that it never will be. */
export interface BodyObserver {
  onBodyReady(): void
  onBodyBroken(failure: Failure): void
}
