// Which balancing policies there are, by the names that the configuration has for them. Used by upstreams.
import { ConsistentHash } from './consistent-hash.js'
import type { HashKey } from './hash-key.js'
import { LeastRequests } from './least-requests.js'
import type { Candidate, Policy } from './policy.js'
import { RandomTwo } from './random-two.js'
import { RoundRobin } from './round-robin.js'

/** How an endpoint is chosen for a request. */
export type Balance =
  | { readonly kind: 'round-robin' | 'least-requests' | 'random-two' }
  | { readonly kind: 'hash'; readonly key: HashKey }

/** The policy of this name over these endpoints; `random` gives numbers from 0 up to but not including 1. */
export function policyOf(balance: Balance, candidates: readonly Candidate[], random: () => number): Policy {
  if (balance.kind === 'round-robin') return new RoundRobin(candidates)
  if (balance.kind === 'least-requests') return new LeastRequests(candidates)
  if (balance.kind === 'random-two') return new RandomTwo(candidates, random)
  return new ConsistentHash(candidates)
}
