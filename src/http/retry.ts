// Which failed attempts are worth another one, and how many an upstream may have: retries must neither execute a request
// twice nor multiply an outage. Used by forwarding; knows no endpoint.

/** What an attempt ended with: no connection, a connection lost before the answer, or an answer with a status. */
export type RetryCause = 'connect' | 'reset' | number

/** What is tried again at an upstream. */
export interface RetryPolicy {
  /** Attempts at one request, the first included. */
  readonly attemptsMax: number
  readonly causes: ReadonlySet<RetryCause>
  /** Shared by all requests to the upstream. */
  readonly budget: RetryBudget
}

/** RFC 9110 §9.2.2: executing them twice is executing them once. */
const idempotentMethods = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])

/** Whether executing a request with this method twice is executing it once. */
export function isIdempotent(method: string): boolean {
  return idempotentMethods.has(method)
}

/** How many retries there may be. */
export interface RetryBounds {
  /** Retries that each request brings. */
  readonly perRequest: number
  /** Retries that an upstream with few requests has, so that a single failure can be mended. */
  readonly perSecond: number
  /** Retries that may be saved up. */
  readonly savedMax: number
}

/** A fifth of the requests. */
export const defaultRetryBounds: RetryBounds = { perRequest: 0.2, perSecond: 3, savedMax: 50 }

/** Bounds the retries of an upstream to a fraction of its requests. */
export class RetryBudget {
  readonly #bounds: RetryBounds
  #retries: number
  #refilledMs: number

  constructor(bounds: RetryBounds, nowMs: number) {
    this.#bounds = bounds
    this.#retries = bounds.savedMax
    this.#refilledMs = nowMs
  }

  /** A request has come. */
  earn(): void {
    if (this.#retries < this.#bounds.savedMax) this.#retries += this.#bounds.perRequest
  }

  /** Takes one retry; false where none is left. */
  spend(nowMs: number): boolean {
    const { perSecond, savedMax } = this.#bounds
    const earned = ((nowMs - this.#refilledMs) * perSecond) / 1000
    this.#refilledMs = nowMs
    this.#retries = Math.min(savedMax, this.#retries + earned)
    if (this.#retries < 1) return false
    this.#retries--
    return true
  }
}
