// A named group of endpoints and the order in which they are chosen. Used by forwarding, which asks for one endpoint after
// another; knows neither sites nor clients.
import type { Endpoint } from './endpoint.js'

/** What a balancing policy may ask about a request; asked once, before anything is sent. */
export interface RequestFacts {
  /** The client's address without a port. */
  readonly clientAddress: string
  readonly host: string
  readonly path: string
  /** The value of a header, its name in lower case. */
  header(name: string): string | undefined
  cookie(name: string): string | undefined
}

/** A named group of endpoints. */
export class Upstream {
  readonly name: string
  readonly endpoints: readonly Endpoint[]

  constructor(options: { name: string; endpoints: readonly Endpoint[] }) {
    this.name = options.name
    this.endpoints = options.endpoints
  }

  /** What `choose` needs of a request: a number that equal clients share where the policy is a hash, 0 elsewhere. */
  hashOf(_facts: RequestFacts): number {
    return 0
  }

  /** The best endpoint that is not among `tried`; undefined where none is left. */
  choose(_hash: number, tried: readonly Endpoint[]): Endpoint | undefined {
    return this.endpoints.find((endpoint) => !tried.includes(endpoint))
  }
}
