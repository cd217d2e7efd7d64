// The upstreams of a configuration while it is put together: those with a name, and one for each address that a site
// names instead, shared by all that name it. Used by load.ts and answer.ts.

import assert from 'node:assert/strict'
import { formatEndpoint } from '../net/endpoint-address.js'
import type { Answer, VhostConfig } from './config.js'
import type { Place } from './config-error.js'
import type { UpstreamReference } from './schema-upstream.js'
import { addressUpstream, type UpstreamDefaults } from './upstream.js'
import type { UpstreamConfig } from './upstream-config.js'

/** Upstreams by name or address. */
export class UpstreamDirectory {
  readonly #main: UpstreamDefaults
  readonly #before: ReadonlyMap<string, UpstreamConfig> | undefined
  readonly #upstreams: Map<string, UpstreamConfig>

  /** `before` is one of the same upstreams and defaults: what it has made for addresses is used again. */
  constructor(named: readonly UpstreamConfig[], main: UpstreamDefaults, before?: UpstreamDirectory) {
    this.#main = main
    this.#before = before?.all
    this.#upstreams = new Map(named.map((upstream) => [upstream.name, upstream]))
  }

  /** All that there are so far. */
  get all(): ReadonlyMap<string, UpstreamConfig> {
    return this.#upstreams
  }

  /** What a sound site refers to; `place` is where it does. */
  find(reference: UpstreamReference, place: Place): UpstreamConfig {
    const name = reference.kind === 'name' ? reference.name : formatEndpoint(reference.address)
    const known = this.#upstreams.get(name)
    if (known !== undefined) return known
    assert(reference.kind === 'address', 'a sound site refers to upstreams that are defined')
    const upstream = this.#before?.get(name) ?? addressUpstream(reference.address, place, this.#main)
    this.#upstreams.set(name, upstream)
    return upstream
  }

  /** Takes in what a site refers to that has been built before. */
  adopt({ answer, routes }: VhostConfig): void {
    this.#adopt(answer)
    for (const route of routes) this.#adopt(route.answer)
  }

  #adopt(answer: Answer): void {
    if (answer.kind !== 'upstream') return
    const { upstream } = answer
    if (!this.#upstreams.has(upstream.name)) this.#upstreams.set(upstream.name, upstream)
  }
}
