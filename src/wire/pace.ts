// The least pace of a body: nobody keeps a request for ever by a byte now and then (slow read, slow POST). Used by the server
// sides of both wires; measures only the time in which the client alone is waited for.
import { noDeadline, nowMs } from './deadlines.js'
import type { WireLimits, WireTimeouts } from './downstream.js'

/** Bytes that a body has to move in the time in which it may not stand still. */
export function leastBytes(limits: WireLimits, timeouts: WireTimeouts): number {
  return Math.max(1, (limits.bodyBytesPerSecondMin * timeouts.bodyIdleMs) / 1000)
}

/** How fast a client moves the bodies of one exchange. */
export class Pace {
  readonly #limits: () => WireLimits
  readonly #timeouts: () => WireTimeouts
  #waitedMs = 0
  #movedBytes = 0

  constructor(options: { readonly limits: () => WireLimits; readonly timeouts: () => WireTimeouts }) {
    this.#limits = options.limits
    this.#timeouts = options.timeouts
  }

  /** Another exchange begins. */
  restart(): void {
    this.#waitedMs = this.#movedBytes = 0
  }

  /** Counts bytes that moved while `deadlineMs` was waited for; whether all in all there were too few for the wait. */
  isTooSlow(deadlineMs: number, bytes: number): boolean {
    if (deadlineMs === noDeadline) return false
    const timeouts = this.#timeouts()
    const { bodyIdleMs } = timeouts
    this.#waitedMs += Math.max(0, nowMs() - deadlineMs + bodyIdleMs)
    this.#movedBytes += bytes
    if (this.#waitedMs < bodyIdleMs) return false
    const isTooSlow = this.#movedBytes * bodyIdleMs < leastBytes(this.#limits(), timeouts) * this.#waitedMs
    this.restart()
    return isTooSlow
  }
}
