// The upstreams of one snapshot: endpoints that are the same as before are taken over with their connections and their
// health. Used by the snapshot, which compiles, and by the server, which puts into service.
import { isDeepStrictEqual } from 'node:util'
import type { Config, ForwardAnswer, VhostConfig } from '../config/config.js'
import type { EndpointConfig, UpstreamConfig, UpstreamTimeouts } from '../config/upstream-config.js'
import { differenceOf } from '../files/difference.js'
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
}

/** The upstreams of a snapshot. */
export interface UpstreamPlan {
  /** By what makes two endpoints the same. */
  readonly endpoints: ReadonlyMap<string, PlannedEndpoint>
  /** By name. A site may keep an earlier version of an upstream that others have in its new one. */
  readonly upstreams: ReadonlyMap<string, readonly CompiledUpstream[]>
}

/** An upstream, and what makes it the one that a site means. */
export interface CompiledUpstream {
  readonly upstream: Upstream
  readonly config: UpstreamConfig
  readonly timeouts: UpstreamTimeouts
  /** One for all of this name, the earlier ones too: a reload must not refill what an outage has spent. */
  readonly retryBudget: RetryBudget
  /** The keys of its endpoints. */
  readonly keys: readonly string[]
}

/** Where a site forwards to. */
export interface Destination {
  readonly upstream: Upstream
  readonly retries: RetryPolicy
}

/** A site, as far as it forwards. */
export interface UpstreamUser {
  readonly vhost: Pick<VhostConfig, 'id'>
  readonly upstreams: readonly CompiledUpstream[]
}

/** What upstreams are compiled from. */
export interface UpstreamParts {
  readonly config: Config
  readonly stock: Pick<Stock, 'upstreamTls' | 'endpointObserver'>
  /** What serves now. */
  readonly previous: { readonly config: Config; readonly upstreams: UpstreamPlan } | undefined
}

/** Compiles upstreams one after another; equal ones are one, and those of before are the same ones. */
export class UpstreamCompiler {
  readonly #parts: UpstreamParts
  readonly #previous: UpstreamPlan
  /** Every earlier upstream would be planned as it was, so that it need not be looked at. */
  readonly #isAsBefore: boolean
  readonly #endpoints: Map<string, PlannedEndpoint>
  readonly #upstreams: Map<string, readonly CompiledUpstream[]>
  #uses = new Set<CompiledUpstream>()

  constructor(parts: UpstreamParts) {
    const { config, previous } = parts
    this.#parts = parts
    this.#previous = previous?.upstreams ?? noPlan
    this.#isAsBefore = previous !== undefined && isDeepStrictEqual(generalOf(previous.config), generalOf(config))
    const { endpoints, upstreams } = this.#isAsBefore ? this.#previous : noPlan
    this.#endpoints = new Map(endpoints)
    this.#upstreams = new Map(upstreams)
  }

  /** What has been compiled, without what `abandoned` sites had and none of `sites` has. It does not hold what it replaces. */
  plan(sites: readonly UpstreamUser[], abandoned: readonly UpstreamUser[]): UpstreamPlan {
    const unused = new Set(abandoned.flatMap((site) => site.upstreams))
    if (unused.size > 0) for (const site of sites) for (const use of site.upstreams) unused.delete(use)
    for (const compiled of unused) this.#remove(compiled)
    return { endpoints: this.#endpoints, upstreams: this.#upstreams }
  }

  /** Where an answer of a site forwards to. */
  destinationOf(answer: ForwardAnswer): Destination {
    const compiled = this.#known(answer) ?? this.#compile(answer)
    this.#uses.add(compiled)
    const { attempts, on } = answer.upstream.retries
    const retries = { attemptsMax: attempts, causes: new Set(on), budget: compiled.retryBudget }
    return { upstream: compiled.upstream, retries }
  }

  /** The upstreams that have been asked for since the last time. */
  takeUses(): readonly CompiledUpstream[] {
    if (this.#uses.size === 0) return nothingUsed
    const uses = [...this.#uses]
    this.#uses = new Set()
    return uses
  }

  /** Takes the upstreams of a site that means what it meant before. */
  takeOver(uses: readonly CompiledUpstream[]): void {
    if (this.#isAsBefore) return
    for (const use of uses) if (!this.#named(use.config.name).includes(use)) this.#keep(use)
  }

  // A site may keep an earlier version of an upstream that others have in its new one.
  #known({ upstream: config, timeouts }: ForwardAnswer): CompiledUpstream | undefined {
    return this.#named(config.name).find((known) => {
      return isSameConnection(known.timeouts, timeouts) && isSameMeaning(known.config, config)
    })
  }

  #named(name: string): readonly CompiledUpstream[] {
    return this.#upstreams.get(name) ?? nothingUsed
  }

  #compile({ upstream: config, timeouts }: ForwardAnswer): CompiledUpstream {
    const planned = config.endpoints.map((endpoint) => this.#endpointOf(endpoint, config, timeouts))
    const endpoints = planned.map(({ endpoint }) => endpoint)
    const shares = new Map(endpoints.map((endpoint, index) => [endpoint, shareOf(config.endpoints[index])]))
    const upstream = new Upstream({ name: config.name, endpoints, shares, balance: config.balance })
    const retryBudget = this.#retryBudgetOf(config.name)
    const compiled = { upstream, config, timeouts, retryBudget, keys: planned.map(({ key }) => key) }
    this.#take(compiled)
    return compiled
  }

  #retryBudgetOf(name: string): RetryBudget {
    const [known = this.#previous.upstreams.get(name)?.[0]] = this.#named(name)
    return known?.retryBudget ?? new RetryBudget(defaultRetryBounds, nowMs())
  }

  #take(compiled: CompiledUpstream): void {
    const { name } = compiled.config
    this.#upstreams.set(name, [...this.#named(name), compiled])
  }

  #remove(compiled: CompiledUpstream): void {
    const { name } = compiled.config
    const others = this.#named(name).filter((each) => each !== compiled)
    if (others.length === 0) this.#upstreams.delete(name)
    else this.#upstreams.set(name, others)
    for (const key of compiled.keys) if (!others.some(({ keys }) => keys.includes(key))) this.#endpoints.delete(key)
  }

  #keep(compiled: CompiledUpstream): void {
    const { config, timeouts, keys } = compiled
    this.#take(compiled)
    for (const key of keys) {
      const before = this.#previous.endpoints.get(key)
      if (before === undefined || this.#endpoints.has(key)) continue
      this.#endpoints.set(key, { endpoint: before.endpoint, settings: this.#settingsOf(config, timeouts) })
    }
  }

  #endpointOf({ address, label }: EndpointConfig, config: UpstreamConfig, timeouts: UpstreamTimeouts) {
    const { protocol, proxyProtocol } = config
    const tls = address.kind === 'tcp' && address.tls ? config.tls : undefined
    const own = isSameConnection(timeouts, config.timeouts) ? null : timeouts
    const key = JSON.stringify([config.name, label, protocol, proxyProtocol, tls?.serverName, tls && tlsKey(tls), own])
    const settings = this.#settingsOf(config, timeouts)
    const before = this.#endpoints.get(key) ?? this.#previous.endpoints.get(key)
    const endpoint =
      before?.endpoint ??
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
    const isSame = before !== undefined && isDeepStrictEqual(before.settings, settings)
    this.#endpoints.set(key, isSame ? before : { endpoint, settings })
    return { key, endpoint }
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
const noPlan: UpstreamPlan = { endpoints: new Map(), upstreams: new Map() }

/** Puts upstreams into service: endpoints get their settings and are checked; those that are configured no more go. */
export function serveUpstreams(plan: UpstreamPlan, previous: UpstreamPlan = noPlan): void {
  const planned = differenceOf([...previous.endpoints.values()], [...plan.endpoints.values()])
  for (const { endpoint, settings } of planned.come) endpoint.reconfigure(settings)
  const named = differenceOf([...previous.upstreams.values()], [...plan.upstreams.values()])
  for (const { upstream } of named.come.flat()) upstream.activate()
  const kept = new Set(planned.come.map(({ endpoint }) => endpoint))
  for (const { endpoint } of planned.gone) if (!kept.has(endpoint)) endpoint.retire()
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
