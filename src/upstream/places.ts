// The places for connections that one endpoint has, shared by its pools, and who waits for one. Owned by an endpoint.
// Whoever is refused a place is told when one is free, the one first that has waited longest.

/** How much there may be at once for one endpoint. */
export interface PoolLimits {
  /** Open connections. */
  readonly connections: number
  /** Requests that wait while no connection may be opened for them. */
  readonly queued: number
  /** Milliseconds that they wait. */
  readonly queueMs: number
}

/** Someone who wants to open a connection. */
export interface Claimant {
  /** There may be a place now: claim it, or want none any more. */
  onPlaceFree(): void
}

/** Counts what is taken. */
export class Places {
  limits: PoolLimits
  /** Requests that wait, in all pools. */
  waiting = 0
  /** Requests that connections in the making will have room for, in all pools. */
  expected = 0
  #taken = 0
  readonly #refused = new Set<Claimant>()
  readonly #makeRoom: () => void

  /** `makeRoom` closes a connection that nobody uses and gives its place back, where there is one. */
  constructor(limits: PoolLimits, makeRoom: () => void) {
    this.limits = limits
    this.#makeRoom = makeRoom
  }

  /** Whether somebody was refused a place and still wants one. */
  get isContended(): boolean {
    return this.#refused.size > 0
  }

  /** Requests that wait while no connection is made for them. */
  get queued(): number {
    return this.waiting - this.expected
  }

  /** Takes a place; where there is none, the claimant stands in line for the next one. */
  claim(claimant: Claimant): boolean {
    if (this.#taken >= this.limits.connections) this.#makeRoom()
    if (this.#taken >= this.limits.connections) {
      this.#refused.add(claimant)
      return false
    }
    this.#refused.delete(claimant)
    this.#taken++
    return true
  }

  /** The claimant wants no place any more. */
  forgo(claimant: Claimant): void {
    this.#refused.delete(claimant)
  }

  /** Gives a place back without telling anybody, for who takes it at once. */
  vacate(): void {
    this.#taken--
  }

  /** Gives a place back and tells who stands first in line. */
  release(): void {
    this.#taken--
    this.offer()
  }

  /** Tells those in line while there are places. */
  offer(): void {
    for (const claimant of this.#refused) {
      if (this.#taken >= this.limits.connections) return
      this.#refused.delete(claimant)
      claimant.onPlaceFree()
    }
  }
}
