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
import { isSameMeaning } from './changes.js'
import type { Stock } from './stock.js'
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

/** An upstream, and what makes it the one that a site means. */
export interface CompiledUpstream {
  readonly upstream: Upstream
  readonly config: UpstreamConfig
  readonly timeouts: UpstreamTimeouts
  /** The keys of its endpoints. */
  readonly keys: readonly string[]
}

/** What upstreams are compiled from. */
export interface UpstreamParts {
  readonly config: Config
  readonly stock: Pick<Stock, 'upstreamTls' | 'endpointObserver'>
  /** What serves now. */
  readonly previous: { readonly config: Config; readonly upstreams: UpstreamPlan } | undefined
}

/** Compiles upstreams one after another; equal ones are one. */
export class UpstreamCompiler {
  readonly #endpoints = new Map<string, PlannedEndpoint>()
  readonly #retryBudgets = new Map<string, RetryBudget>()
  readonly #users = new Map<Endpoint, Set<string>>()
  readonly #parts: UpstreamParts
  readonly #isAsBefore: boolean
  readonly #taken = new Set<CompiledUpstream>()
  readonly #byName = new Map<string, CompiledUpstream[]>()
  #uses = new Set<CompiledUpstream>()

  constructor(parts: UpstreamParts) {
    const { config, previous } = parts
    this.#parts = parts
    this.#isAsBefore = previous !== undefined && isDeepStrictEqual(generalOf(previous.config), generalOf(config))
  }

  /** What has been compiled. It does not hold what it replaces. */
  plan(): UpstreamPlan {
    const upstreams = [...this.#taken].map(({ upstream }) => upstream)
    return { endpoints: this.#endpoints, upstreams, retryBudgets: this.#retryBudgets }
  }

  /** The upstream that an answer of a site forwards to. */
  upstreamOf(answer: ForwardAnswer, vhost: string): Upstream {
    const compiled = this.#known(answer) ?? this.#compile(answer)
    this.#uses.add(compiled)
    this.#addUser(compiled, vhost)
    return compiled.upstream
  }

  /** The upstreams that have been asked for since the last time. */
  takeUses(): readonly CompiledUpstream[] {
    if (this.#uses.size === 0) return nothingUsed
    const uses = [...this.#uses]
    this.#uses = new Set()
    return uses
  }

  /** Takes the upstreams of a site that means what it meant before. */
  takeOver(uses: readonly CompiledUpstream[], vhost: string): void {
    for (const use of uses) {
      if (!this.#taken.has(use)) this.#keep(use)
      this.#addUser(use, vhost)
    }
  }

  /** What of an upstream's failures is tried again. */
  retriesOf({ upstream: { name, retries } }: ForwardAnswer): RetryPolicy {
    return { attemptsMax: retries.attempts, causes: new Set(retries.on), budget: this.#retryBudgetOf(name) }
  }

  #retryBudgetOf(name: string): RetryBudget {
    const kept = this.#retryBudgets.get(name) ?? this.#parts.previous?.upstreams.retryBudgets.get(name)
    const budget = kept ?? new RetryBudget(defaultRetryBounds, nowMs())
    this.#retryBudgets.set(name, budget)
    return budget
  }

  #addUser({ upstream }: CompiledUpstream, vhost: string): void {
    for (const endpoint of upstream.endpoints) this.#users.get(endpoint)?.add(vhost)
  }

  // A site may keep an earlier version of an upstream that others have in its new one.
  #known({ upstream: config, timeouts }: ForwardAnswer): CompiledUpstream | undefined {
    return this.#byName.get(config.name)?.find((known) => {
      return isSameConnection(known.timeouts, timeouts) && isSameMeaning(known.config, config)
    })
  }

  #compile({ upstream: config, timeouts }: ForwardAnswer): CompiledUpstream {
    const planned = config.endpoints.map((endpoint) => this.#endpointOf(endpoint, config, timeouts))
    const endpoints = planned.map(({ endpoint }) => endpoint)
    const shares = new Map(endpoints.map((endpoint, index) => [endpoint, shareOf(config.endpoints[index])]))
    const upstream = new Upstream({ name: config.name, endpoints, shares, balance: config.balance })
    const compiled = { upstream, config, timeouts, keys: planned.map(({ key }) => key) }
    this.#take(compiled)
    return compiled
  }

  #take(compiled: CompiledUpstream): void {
    this.#taken.add(compiled)
    const named = this.#byName.get(compiled.config.name)
    if (named === undefined) this.#byName.set(compiled.config.name, [compiled])
    else named.push(compiled)
  }

  #keep(compiled: CompiledUpstream): void {
    const { config, timeouts, keys } = compiled
    this.#take(compiled)
    this.#retryBudgetOf(config.name)
    for (const key of keys) {
      const before = this.#parts.previous?.upstreams.endpoints.get(key)
      if (before === undefined || this.#endpoints.has(key)) continue
      const { endpoint } = before
      const settings = this.#isAsBefore ? before.settings : this.#settingsOf(config, timeouts)
      this.#plan(key, { endpoint, settings })
    }
  }

  #endpointOf({ address, label }: EndpointConfig, config: UpstreamConfig, timeouts: UpstreamTimeouts) {
    const { protocol, proxyProtocol } = config
    const tls = address.kind === 'tcp' && address.tls ? config.tls : undefined
    const own = isSameConnection(timeouts, config.timeouts) ? null : timeouts
    const key = JSON.stringify([config.name, label, protocol, proxyProtocol, tls?.serverName, tls && tlsKey(tls), own])
    const planned = this.#endpoints.get(key)
    if (planned !== undefined) return { key, endpoint: planned.endpoint }
    const settings = this.#settingsOf(config, timeouts)
    const endpoint =
      this.#parts.previous?.upstreams.endpoints.get(key)?.endpoint ??
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
    this.#plan(key, { endpoint, settings })
    return { key, endpoint }
  }

  #plan(key: string, { endpoint, settings }: Pick<PlannedEndpoint, 'endpoint' | 'settings'>): void {
    const vhosts = new Set<string>()
    this.#users.set(endpoint, vhosts)
    this.#endpoints.set(key, { endpoint, settings, vhosts })
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

const nothingUsed: readonly CompiledUpstream[] = []

/** Puts upstreams into service: endpoints get their settings and are checked; those that are configured no more go. */
export function serveUpstreams({ endpoints, upstreams }: UpstreamPlan, previous: UpstreamPlan | undefined): void {
  for (const [key, { endpoint, settings }] of endpoints) {
    if (previous?.endpoints.get(key)?.settings !== settings) endpoint.reconfigure(settings)
  }
  for (const upstream of upstreams) upstream.activate()
  for (const [key, { endpoint }] of previous?.endpoints ?? []) if (!endpoints.has(key)) endpoint.retire()
}

/** The server ends. */
export function retireUpstreams({ endpoints }: UpstreamPlan): void {
  for (const { endpoint } of endpoints.values()) endpoint.retire()
}

// How long a connection may take and is kept belongs to the connection: whoever wants others has connections of its own.
function isSameConnection(left: UpstreamTimeouts, right: UpstreamTimeouts): boolean {
  return (
    left.connectMs === right.connectMs &&
    left.idleMs === right.idleMs &&
    left.responseMs === right.responseMs &&
    left.tunnelIdleMs === right.tunnelIdleMs
  )
}

/** What the settings of every endpoint hang on beside its own. */
function generalOf({ timeouts, limits }: Config): unknown {
  return [timeouts.bodyIdleMs, limits.headerBytes, limits.headerCount]
}

function shareOf(endpoint: EndpointConfig | undefined): Share {
  return { weight: endpoint?.weight ?? 1, isBackup: endpoint?.isBackup ?? false }
}
