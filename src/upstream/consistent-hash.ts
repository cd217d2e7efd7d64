// Takes the same endpoint for the same key (weighted rendezvous hashing): each endpoint draws a number for each key, the
// best one wins. One that goes moves only its own keys, one that comes takes its share, and no table has to be built.
import type { Endpoint } from './endpoint.js'
import { hashOfText, mixed } from './hash.js'
import type { Candidate, Eligibility, Policy } from './policy.js'

/** Keys stay where they are while their endpoint is eligible. */
export class ConsistentHash implements Policy {
  readonly #candidates: readonly Candidate[]
  readonly #seeds: Uint32Array

  constructor(candidates: readonly Candidate[]) {
    this.#candidates = candidates
    // By label, so that every process and every restart agrees.
    this.#seeds = Uint32Array.from(candidates, ({ endpoint }) => hashOfText(endpoint.label))
  }

  pick(hash: number, eligible: Eligibility): Endpoint | undefined {
    let best: Endpoint | undefined
    let least = Number.POSITIVE_INFINITY
    for (let index = 0; index < this.#seeds.length; index++) {
      const { endpoint, weight } = this.#candidates[index] as Candidate
      if (!eligible.admits(endpoint)) continue
      const distance = distanceOf(mixed(hash ^ (this.#seeds[index] as number)), weight)
      if (distance >= least) continue
      least = distance
      best = endpoint
    }
    return best
  }
}

/** Exponentially distributed: the probability of being the least of several is in proportion to the weight. */
function distanceOf(drawn: number, weight: number): number {
  return -Math.log((drawn + 0.5) / 0x1_0000_0000) / weight
}
