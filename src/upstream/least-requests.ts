// Takes the endpoint with the fewest requests in flight for its weight; equal ones in turn, by weight.
import type { Endpoint } from './endpoint.js'
import type { Candidate, Eligibility, Policy } from './policy.js'
import { RoundRobin } from './round-robin.js'

/** Slow endpoints get less, without anybody measuring them. */
export class LeastRequests implements Policy, Eligibility {
  readonly #candidates: readonly Candidate[]
  readonly #loads: ReadonlyMap<Endpoint, Candidate>
  readonly #turns: RoundRobin
  #outer: Eligibility | undefined
  #least = 0

  constructor(candidates: readonly Candidate[]) {
    this.#candidates = candidates
    this.#loads = new Map(candidates.map((candidate) => [candidate.endpoint, candidate]))
    this.#turns = new RoundRobin(candidates)
  }

  pick(hash: number, eligible: Eligibility): Endpoint | undefined {
    this.#outer = eligible
    this.#least = Number.POSITIVE_INFINITY
    for (const candidate of this.#candidates) {
      if (eligible.admits(candidate.endpoint)) this.#least = Math.min(this.#least, loadOf(candidate))
    }
    return this.#turns.pick(hash, this)
  }

  /** For the turns: only those that have the least load. */
  admits(endpoint: Endpoint): boolean {
    const candidate = this.#loads.get(endpoint)
    return candidate !== undefined && this.#outer?.admits(endpoint) === true && loadOf(candidate) === this.#least
  }
}

/** Requests in flight for each unit of weight. */
export function loadOf({ endpoint, weight }: Candidate): number {
  return endpoint.active / weight
}
