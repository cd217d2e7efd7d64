// Draws two endpoints by weight and takes the one with fewer requests in flight: close to the least of all, without the
// herds that many balancers make when they all see the same least one.
import type { Endpoint } from './endpoint.js'
import { loadOf } from './least-requests.js'
import type { Candidate, Eligibility, Policy } from './policy.js'

/** The better of two drawn at random. */
export class RandomTwo implements Policy {
  readonly #candidates: readonly Candidate[]
  readonly #random: () => number

  /** `random` gives numbers from 0 up to but not including 1. */
  constructor(candidates: readonly Candidate[], random: () => number) {
    this.#candidates = candidates
    this.#random = random
  }

  pick(_hash: number, eligible: Eligibility): Endpoint | undefined {
    const first = this.#draw(eligible, undefined)
    if (first === undefined) return undefined
    const second = this.#draw(eligible, first)
    if (second === undefined) return first.endpoint
    return loadOf(second) < loadOf(first) ? second.endpoint : first.endpoint
  }

  #draw(eligible: Eligibility, except: Candidate | undefined): Candidate | undefined {
    let total = 0
    for (const candidate of this.#candidates) {
      if (candidate !== except && eligible.admits(candidate.endpoint)) total += candidate.weight
    }
    let left = this.#random() * total
    let last: Candidate | undefined
    for (const candidate of this.#candidates) {
      if (candidate === except || !eligible.admits(candidate.endpoint)) continue
      last = candidate
      left -= candidate.weight
      if (left < 0) return candidate
    }
    return last
  }
}
