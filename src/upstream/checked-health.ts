// Turns the results of health checks into up and down. Used by health checks; pure but for its counts.
// An endpoint counts as up until proved otherwise, and the first check decides alone, as HAProxy has it: traffic flows at
// once after a start, and not for `fall` intervals to what is known to be dead.

/** How many results in a row it takes. */
export interface HealthThresholds {
  readonly rise: number
  readonly fall: number
}

/** Whether an endpoint is well, as its checks see it. */
export class CheckedHealth {
  isUp = true
  #isProved = false
  #contradictions = 0

  /** Takes a result; true where the state has changed by it. */
  take(isWell: boolean, { rise, fall }: HealthThresholds): boolean {
    const needed = this.isUp ? (this.#isProved ? fall : 1) : rise
    this.#isProved = true
    this.#contradictions = isWell === this.isUp ? 0 : this.#contradictions + 1
    if (this.#contradictions < needed) return false
    this.isUp = isWell
    this.#contradictions = 0
    return true
  }

  /** Nobody checks any more, so it counts as up; true where it did not. */
  forget(): boolean {
    const wasUp = this.isUp
    this.isUp = true
    this.#isProved = false
    this.#contradictions = 0
    return !wasUp
  }
}
