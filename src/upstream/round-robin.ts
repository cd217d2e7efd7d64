// Takes endpoints in turn, by weight. Smooth: weights of 3 and 1 give a a b a, not a a a b.
import type { Endpoint } from './endpoint.js'
import type { Candidate, Eligibility, Policy } from './policy.js'

/** Everyone earns its weight each turn; who has most is picked and pays for all. */
export class RoundRobin implements Policy {
  readonly #candidates: readonly Candidate[]
  readonly #credits: Float64Array

  constructor(candidates: readonly Candidate[]) {
    this.#candidates = candidates
    this.#credits = new Float64Array(candidates.length)
  }

  pick(_hash: number, eligible: Eligibility): Endpoint | undefined {
    const credits = this.#credits
    let richest = -1
    let total = 0
    for (let index = 0; index < credits.length; index++) {
      const { endpoint, weight } = this.#candidates[index] as Candidate
      if (!eligible.admits(endpoint)) continue
      credits[index] = (credits[index] as number) + weight
      total += weight
      if (richest === -1 || (credits[index] as number) > (credits[richest] as number)) richest = index
    }
    if (richest === -1) return undefined
    credits[richest] = (credits[richest] as number) - total
    return this.#candidates[richest]?.endpoint
  }
}
