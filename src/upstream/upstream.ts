// A named group of endpoints and the order in which they are chosen. Used by forwarding, which asks for one endpoint after
// another; knows neither sites nor clients.
import { type Balance, policyOf } from './balance.js'
import type { Endpoint } from './endpoint.js'
import { hashOfKey, type RequestFacts } from './hash-key.js'
import type { Eligibility, Policy } from './policy.js'

export type { RequestFacts } from './hash-key.js'

/** The place of one endpoint in its group. */
export interface Share {
  /** Its part of the requests, against the weights of the others. */
  readonly weight: number
  /** Used only while none of the others is available. */
  readonly isBackup: boolean
}

/** What an upstream is made of. */
export interface UpstreamOptions {
  readonly name: string
  readonly endpoints: readonly Endpoint[]
  /** Of the endpoints that are not like most: a weight of 1, and no backup. */
  readonly shares?: ReadonlyMap<Endpoint, Share>
  /** In turn where nothing is said. */
  readonly balance?: Balance
  /** Numbers from 0 up to but not including 1. */
  readonly random?: () => number
}

const plainShare: Share = { weight: 1, isBackup: false }

const hashes = 0x1_0000_0000

/** A named group of endpoints. Immutable but for whose turn it is: a reload makes another one of the same endpoints. */
export class Upstream {
  readonly name: string
  readonly endpoints: readonly Endpoint[]
  readonly #options: UpstreamOptions
  readonly #balance: Balance
  readonly #random: () => number
  readonly #primary: Policy
  readonly #backup: Policy
  readonly #eligibility = new Standing()

  constructor(options: UpstreamOptions) {
    this.name = options.name
    this.endpoints = options.endpoints
    this.#options = options
    this.#balance = options.balance ?? { kind: 'round-robin' }
    this.#random = options.random ?? Math.random
    const members = options.endpoints.map((endpoint) => ({
      endpoint,
      ...(options.shares?.get(endpoint) ?? plainShare),
    }))
    const policyFor = (isBackup: boolean): Policy =>
      policyOf(
        this.#balance,
        members.filter((member) => member.isBackup === isBackup),
        this.#random,
      )
    this.#primary = policyFor(false)
    this.#backup = policyFor(true)
  }

  /** How its endpoints are chosen. */
  get balance(): Balance {
    return this.#balance
  }

  /** What `choose` needs of a request: a number that equal clients share where the policy is a hash, 0 elsewhere. */
  hashOf(facts: RequestFacts): number {
    if (this.#balance.kind !== 'hash') return 0
    // Without its key a request may go anywhere; all of them to one endpoint would be the worst.
    return hashOfKey(this.#balance.key, facts) ?? Math.floor(this.#random() * hashes)
  }

  /** The best endpoint that is not among `tried`; undefined where none is left. */
  choose(hash: number, tried: readonly Endpoint[]): Endpoint | undefined {
    const eligibility = this.#eligibility
    eligibility.tried = tried
    return this.#pick(hash, 'available') ?? this.#pick(hash, 'ejected')
  }

  /** The endpoints as a fresh upstream would try them for a request with this hash. Changes nothing. */
  order(hash: number): readonly Endpoint[] {
    const rehearsal = new Upstream(this.#options)
    const order: Endpoint[] = []
    for (let next = rehearsal.choose(hash, order); next !== undefined; next = rehearsal.choose(hash, order)) {
      order.push(next)
    }
    return order
  }

  /** Its endpoints are in use from now on: they are checked, and know who would stand in for them. */
  activate(): void {
    for (const endpoint of this.endpoints) endpoint.activate(this)
  }

  /** Whether requests could go to another endpoint than this one. */
  hasOther(than: Endpoint): boolean {
    return this.endpoints.some((endpoint) => endpoint !== than && endpoint.isAvailable)
  }

  #pick(hash: number, standing: Standing['standing']): Endpoint | undefined {
    this.#eligibility.standing = standing
    return this.#primary.pick(hash, this.#eligibility) ?? this.#backup.pick(hash, this.#eligibility)
  }
}

/** Not tried yet, and as well as is asked for. One for all requests, so that choosing allocates nothing. */
class Standing implements Eligibility {
  tried: readonly Endpoint[] = []
  /** An ejected endpoint is better than none, for what ejected it may be over; one whose checks fail is not. */
  standing: 'available' | 'ejected' = 'available'

  admits(endpoint: Endpoint): boolean {
    const isWell = this.standing === 'available' ? endpoint.isAvailable : endpoint.isUp
    return isWell && (this.tried.length === 0 || !this.tried.includes(endpoint))
  }
}
