// The upstreams of a configuration while it is put together: those with a name, and one for each address that a site
// names instead, shared by all that name it. Used by load.ts and answer.ts.

import assert from 'node:assert/strict'
import { formatEndpoint } from '../net/endpoint-address.js'
import type { Place } from './config-error.js'
import type { UpstreamReference } from './schema-upstream.js'
import { addressUpstream, type UpstreamDefaults } from './upstream.js'
import type { UpstreamConfig } from './upstream-config.js'

/** Upstreams by name or address. */
export class UpstreamDirectory {
  readonly #main: UpstreamDefaults
  readonly #upstreams: Map<string, UpstreamConfig>

  constructor(named: readonly UpstreamConfig[], main: UpstreamDefaults) {
    this.#main = main
    this.#upstreams = new Map(named.map((upstream) => [upstream.name, upstream]))
  }

  /** What a sound site refers to; `place` is where it does. */
  find(reference: UpstreamReference, place: Place): UpstreamConfig {
    const name = reference.kind === 'name' ? reference.name : formatEndpoint(reference.address)
    const known = this.#upstreams.get(name)
    if (known !== undefined) return known
    assert(reference.kind === 'address', 'a sound site refers to upstreams that are defined')
    const upstream = addressUpstream(reference.address, place, this.#main)
    this.#upstreams.set(name, upstream)
    return upstream
  }
}
