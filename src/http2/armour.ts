// Budgets against floods: work that a peer makes and does not pay for is counted, and refills with time.
// Used by a connection, one budget for each kind of work; whoever overdraws one is closed.
import type { Http2Limits } from './limits.js'

/** How many frames may carry nothing. */
type ControlLimits = Pick<Http2Limits, 'controlBurst' | 'controlPerSecond'>

/** Tokens that refill with time up to a burst. */
export class Budget {
  #tokens: number
  #refilledMs: number

  constructor(burst: number, nowMs: number) {
    this.#tokens = burst
    this.#refilledMs = nowMs
  }

  /** Takes `cost` tokens; false where there are not as many. */
  spend(cost: number, refill: { burst: number; perSecond: number; nowMs: number }): boolean {
    const earned = ((refill.nowMs - this.#refilledMs) * refill.perSecond) / 1000
    this.#refilledMs = refill.nowMs
    this.#tokens = Math.min(refill.burst, this.#tokens + earned) - cost
    return this.#tokens >= 0
  }

  /** Gives tokens for work that was paid for; the next `spend` cuts them to the burst. */
  earn(tokens: number): void {
    this.#tokens += tokens
  }
}

/** The budget of frames that carry nothing, on either side of a connection. */
export class ControlBudget {
  readonly #limits: ControlLimits
  readonly #control: Budget

  constructor(limits: ControlLimits, nowMs: number) {
    this.#limits = limits
    this.#control = new Budget(limits.controlBurst, nowMs)
  }

  /** A frame came that carries nothing; false is a flood. */
  takesControl(nowMs: number): boolean {
    const { controlBurst, controlPerSecond } = this.#limits
    return this.#control.spend(1, { burst: controlBurst, perSecond: controlPerSecond, nowMs })
  }

  /** A message or a part of a body moved, which comes with control frames of its own. */
  earnControl(frames: number): void {
    this.#control.earn(frames)
  }
}

/** The budgets of a client's connection. */
export class Armour extends ControlBudget {
  readonly #limits: Http2Limits
  readonly #resets: Budget
  readonly #faults: Budget

  constructor(limits: Http2Limits, nowMs: number) {
    super(limits, nowMs)
    this.#limits = limits
    this.#resets = new Budget(limits.resetBurst, nowMs)
    this.#faults = new Budget(limits.faultBurst, nowMs)
  }

  /** The client reset a stream that was not answered yet; false is a flood. */
  takesReset(nowMs: number): boolean {
    const { resetBurst, resetsPerSecond } = this.#limits
    return this.#resets.spend(1, { burst: resetBurst, perSecond: resetsPerSecond, nowMs })
  }

  /** The client made us reset or refuse a stream; false is a flood. */
  takesFault(nowMs: number): boolean {
    const { faultBurst, faultsPerSecond } = this.#limits
    return this.#faults.spend(1, { burst: faultBurst, perSecond: faultsPerSecond, nowMs })
  }
}
