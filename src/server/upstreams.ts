// The upstreams of one snapshot: endpoints that are the same as before are taken over with their connections and their
// health. Used by the snapshot, which compiles, and by the server, which puts into service.
import { isDeepStrictEqual } from 'node:util'
import type { Config, ForwardAnswer } from '../config/config.js'
import type { EndpointConfig, UpstreamConfig, UpstreamTimeouts } from '../config/upstream-config.js'
import { defaultRetryBounds, RetryBudget, type RetryPolicy } from '../http/retry.js'
import { Endpoint } from '../upstream/endpoint.js'
import type { EndpointSettings } from '../upstream/endpoint-options.js'
import { type Share, Upstream } from '../upstream/upstream.js'
import { nowMs } from '../wire/deadlines.js'
import type { Stock } from './load.js'
import { tlsKey } from './upstream-tls.js'

/** An endpoint and what it is told when it is put into service. */
export interface PlannedEndpoint {
  readonly endpoint: Endpoint
  readonly settings: EndpointSettings
  /** The sites that forward to it. */
  readonly vhosts: ReadonlySet<string>
}

/** The upstreams of a snapshot. */
export interface UpstreamPlan {
  /** By what makes two endpoints the same. */
  readonly endpoints: ReadonlyMap<string, PlannedEndpoint>
  readonly upstreams: readonly Upstream[]
  /** By name: a reload must not refill what an outage has spent. */
  readonly retryBudgets: ReadonlyMap<string, RetryBudget>
}

/** What upstreams are compiled from. */
export interface UpstreamParts {
  readonly config: Config
  readonly stock: Pick<Stock, 'upstreamTls' | 'endpointObserver'>
  readonly previous: UpstreamPlan | undefined
}

/** Compiles upstreams one after another; equal ones are one. */
export class UpstreamCompiler {
  readonly #endpoints = new Map<string, PlannedEndpoint>()
  readonly #retryBudgets = new Map<string, RetryBudget>()
  readonly #users = new Map<Endpoint, Set<string>>()
  readonly #parts: UpstreamParts
  readonly #upstreams = new Map<string, { readonly config: UpstreamConfig; readonly upstream: Upstream }>()

  constructor(parts: UpstreamParts) {
    this.#parts = parts
  }

  /** What came of it; holds nothing of the snapshot before. */
  plan(): UpstreamPlan {
    const upstreams = [...this.#upstreams.values()].map(({ upstream }) => upstream)
    return { endpoints: this.#endpoints, upstreams, retryBudgets: this.#retryBudgets }
  }

  /** The upstream that an answer of a site forwards to. */
  upstreamOf(answer: ForwardAnswer, vhost: string): Upstream {
    const upstream = this.#compiled(answer)
    for (const endpoint of upstream.endpoints) this.#users.get(endpoint)?.add(vhost)
    return upstream
  }

  /** What of an upstream's failures is tried again. */
  retriesOf({ upstream: { name, retries } }: ForwardAnswer): RetryPolicy {
    return { attemptsMax: retries.attempts, causes: new Set(retries.on), budget: this.#retryBudgetOf(name) }
  }

  #retryBudgetOf(name: string): RetryBudget {
    const kept = this.#retryBudgets.get(name) ?? this.#parts.previous?.retryBudgets.get(name)
    const budget = kept ?? new RetryBudget(defaultRetryBounds, nowMs())
    this.#retryBudgets.set(name, budget)
    return budget
  }

  #compiled({ upstream: config, timeouts }: ForwardAnswer): Upstream {
    // A site may keep an earlier version of an upstream that others have in its new one.
    for (let version = 0; ; version++) {
      const key = JSON.stringify([config.name, connectionTimeouts(timeouts), version])
      const known = this.#upstreams.get(key)
      if (known === undefined) return this.#compile(key, config, timeouts)
      if (known.config === config || isDeepStrictEqual(known.config, config)) return known.upstream
    }
  }

  #compile(key: string, config: UpstreamConfig, timeouts: UpstreamTimeouts): Upstream {
    const planned = config.endpoints.map((endpoint) => this.#endpointOf(endpoint, config, timeouts))
    const shares = new Map(planned.map((endpoint, index) => [endpoint, shareOf(config.endpoints[index])]))
    const upstream = new Upstream({
      name: config.name,
      endpoints: planned,
      shares,
      balance: config.balance,
    })
    this.#upstreams.set(key, { config, upstream })
    return upstream
  }

  #endpointOf({ address, label }: EndpointConfig, config: UpstreamConfig, timeouts: UpstreamTimeouts): Endpoint {
    const { protocol, proxyProtocol } = config
    const tls = address.kind === 'tcp' && address.tls ? config.tls : undefined
    const own = isDeepStrictEqual(connectionTimeouts(timeouts), connectionTimeouts(config.timeouts)) ? null : timeouts
    const key = JSON.stringify([config.name, label, protocol, proxyProtocol, tls?.serverName, tls && tlsKey(tls), own])
    const planned = this.#endpoints.get(key)
    if (planned !== undefined) return planned.endpoint
    const settings = this.#settingsOf(config, timeouts)
    const endpoint =
      this.#parts.previous?.endpoints.get(key)?.endpoint ??
      new Endpoint({
        ...settings,
        address,
        label,
        protocol,
        proxyProtocol,
        tls: tls && this.#parts.stock.upstreamTls.get(tls),
        serverName: tls?.serverName,
        observer: this.#parts.stock.endpointObserver,
      })
    const vhosts = new Set<string>()
    this.#users.set(endpoint, vhosts)
    this.#endpoints.set(key, { endpoint, settings, vhosts })
    return endpoint
  }

  #settingsOf(config: UpstreamConfig, timeouts: UpstreamTimeouts): EndpointSettings {
    const { timeouts: general, limits } = this.#parts.config
    const { headerBytes, headerCount } = limits
    return {
      timeouts: { ...timeouts, bodyIdleMs: general.bodyIdleMs },
      limits: { headerBytes, headerCount },
      pool: config.limits,
      passive: config.passive,
      healthCheck: config.healthCheck,
    }
  }
}

/** Puts upstreams into service: endpoints get their settings and are checked; those that are configured no more go. */
export function serveUpstreams({ endpoints, upstreams }: UpstreamPlan, previous: UpstreamPlan | undefined): void {
  for (const { endpoint, settings } of endpoints.values()) endpoint.reconfigure(settings)
  for (const upstream of upstreams) upstream.activate()
  for (const [key, { endpoint }] of previous?.endpoints ?? []) if (!endpoints.has(key)) endpoint.retire()
}

/** The server ends. */
export function retireUpstreams({ endpoints }: UpstreamPlan): void {
  for (const { endpoint } of endpoints.values()) endpoint.retire()
}

// How long a connection may take and is kept belongs to the connection: whoever wants others has connections of its own.
function connectionTimeouts({ connectMs, idleMs, responseMs, tunnelIdleMs }: UpstreamTimeouts): readonly number[] {
  return [connectMs, idleMs, responseMs, tunnelIdleMs]
}

function shareOf(endpoint: EndpointConfig | undefined): Share {
  return { weight: endpoint?.weight ?? 1, isBackup: endpoint?.isBackup ?? false }
}
