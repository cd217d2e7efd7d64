// What a balancing policy is: it picks one endpoint of a group for each attempt. Implemented by one small file a policy.
// A policy never asks whether an endpoint is well or tried already: `Eligibility` knows.
import type { Endpoint } from './endpoint.js'

/** An endpoint and its share of the requests, against the shares of the others. */
export interface Candidate {
  readonly endpoint: Endpoint
  readonly weight: number
}

/** Which endpoints may be picked for the attempt at hand. */
export interface Eligibility {
  admits(endpoint: Endpoint): boolean
}

/** Picks endpoints; called for every attempt, so it allocates nothing. */
export interface Policy {
  /** The endpoint for a request with this hash; undefined where none is eligible. */
  pick(hash: number, eligible: Eligibility): Endpoint | undefined
}
