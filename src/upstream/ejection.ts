// What the failures of requests tell of an endpoint: after some in a row it is left alone for a while, then tried with one
// request. Owned by an endpoint. Never takes the last one: requests that may fail are better than none that may work.
import type { Failure } from '../wire/failure.js'

/** When an endpoint is left alone. */
export interface PassiveOptions {
  /** Failures in a row; 0 is never. */
  readonly failures: number
  /** Within so many milliseconds. */
  readonly windowMs: number
  /** The first pause in milliseconds; doubled each time in a row, up to `pauseGrowthMax` times it. */
  readonly ejectMs: number
}

/** Hears when an endpoint is left alone and when it is back. */
export interface EjectionOwner {
  /** Whether requests could go to another endpoint. */
  readonly isReplaceable: boolean
  onEjected(detail: string, pauseMs: number): void
  onReturned(): void
}

/** What an ejection is made of. */
export interface EjectionParts {
  readonly options: PassiveOptions
  readonly owner: EjectionOwner
  /** Milliseconds on a clock that never jumps. */
  readonly now: () => number
}

/** How many times the first pause the longest one is. */
export const pauseGrowthMax = 10

/** The bookkeeping of one endpoint's failures. */
export class Ejection {
  #options: PassiveOptions
  readonly #owner: EjectionOwner
  readonly #now: () => number
  #failures = 0
  #firstFailureMs = 0
  #isEjected = false
  /** End of the pause; while a request tries the endpoint, the time until another may. */
  #untilMs = 0
  #isTried = false
  #ejectionsInARow = 0
  #returnedMs = Number.NEGATIVE_INFINITY

  constructor({ options, owner, now }: EjectionParts) {
    this.#options = options
    this.#owner = owner
    this.#now = now
  }

  set options(options: PassiveOptions) {
    this.#options = options
    if (options.failures === 0 && this.#isEjected) this.#return()
  }

  /** Whether a request may be sent: it is not ejected, or the pause is over and nobody tries it yet. */
  get admits(): boolean {
    return !this.#isEjected || this.#now() >= this.#untilMs
  }

  /** A request goes to the endpoint: while it is ejected, that one tells whether it may come back. */
  onSent(): void {
    if (!this.#isEjected) return
    this.#isTried = true
    // A trial whose client leaves tells nothing: after one more pause the next request is one.
    this.#untilMs = this.#now() + this.#options.ejectMs
  }

  /** The endpoint answered. What a gateway says of a service behind it that is gone counts like its own absence. */
  onAnswered(status: number): void {
    if (status >= 502 && status <= 504) return this.#fail(`status ${status}`)
    // An answer that was under way when the endpoint was ejected is no trial.
    if (this.#failures > 0 && !this.#isEjected) this.#failures = 0
    else if (this.#isTried) this.#return()
  }

  /** No connection, or none that lived until the answer. */
  onFailed(failure: Failure): void {
    this.#fail(`${failure.code}: ${failure.detail}`)
  }

  /** Forgets everything: something better informed says that the endpoint is well. */
  reset(): void {
    this.#isEjected = false
    this.#isTried = false
    this.#failures = 0
    this.#ejectionsInARow = 0
  }

  #fail(detail: string): void {
    if (this.#options.failures === 0) return
    if (this.#isEjected) {
      if (this.#isTried) this.#eject(detail)
      return
    }
    const now = this.#now()
    if (this.#failures === 0 || now - this.#firstFailureMs > this.#options.windowMs) {
      this.#failures = 0
      this.#firstFailureMs = now
    }
    this.#failures++
    if (this.#failures >= this.#options.failures && this.#owner.isReplaceable) this.#eject(detail)
  }

  #eject(detail: string): void {
    const now = this.#now()
    const { ejectMs, windowMs } = this.#options
    const wasEjected = this.#isEjected
    if (!wasEjected && now - this.#returnedMs > windowMs) this.#ejectionsInARow = 0
    const pauseMs = ejectMs * Math.min(2 ** this.#ejectionsInARow, pauseGrowthMax)
    this.#ejectionsInARow++
    this.#isEjected = true
    this.#isTried = false
    this.#untilMs = now + pauseMs
    if (!wasEjected) this.#owner.onEjected(detail, pauseMs)
  }

  #return(): void {
    this.#isEjected = false
    this.#isTried = false
    this.#failures = 0
    this.#returnedMs = this.#now()
    this.#owner.onReturned()
  }
}
