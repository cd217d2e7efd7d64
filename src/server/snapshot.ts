// Everything the configuration means, compiled and immutable: names have become references, texts bytes. The only file
// that knows both the YAML's words and the objects that run. A reload makes another one and replaces this whole.
import type { Config, ForwardAnswer, ListenerConfig, VhostConfig } from '../config/config.js'
import { defaultRetryBounds, RetryBudget, type RetryPolicy } from '../http/retry.js'
import type { ListenerView, SiteAction, VirtualHost } from '../http/routing.js'
import type { Http2Limits } from '../http2/limits.js'
import type { ProxyHeaderRules } from '../listener/preamble.js'
import { AddressSet } from '../net/cidr.js'
import { createHostMap, type HostMap } from '../net/host-map.js'
import { formatOrigin } from '../net/origin.js'
import type { Certificate } from '../tls/certificate.js'
import { CertificateStore } from '../tls/certificate-store.js'
import { Endpoint } from '../upstream/endpoint.js'
import { Upstream } from '../upstream/upstream.js'
import { nowMs } from '../wire/deadlines.js'
import type { DegradedSite, ResolvedSites, ServingSite } from './sites.js'

/** What one listener serves. */
export interface ListenerPlan {
  readonly config: ListenerConfig
  readonly view: ListenerView
  readonly proxyHeader: ProxyHeaderRules | undefined
  /** Chooses what a handshake is answered with. */
  readonly certificates: CertificateStore
  readonly limits: Config['limits'] & Http2Limits
  readonly timeouts: Config['timeouts']
}

/** The plan of a listener that is configured no more and only drains: every host is unknown. */
export function closedPlan(plan: ListenerPlan): ListenerPlan {
  const sites = { get: () => undefined }
  const certificates = new CertificateStore({ sites, fallback: undefined, clock: Date.now })
  return { ...plan, certificates, view: { ...plan.view, sites } }
}

/** A compiled configuration. */
export interface Snapshot {
  readonly generation: number
  readonly config: Config
  /** By bound address: a listener outlives a reload that does not move it. */
  readonly plans: ReadonlyMap<string, ListenerPlan>
  /** By what makes two endpoints the same, so that a reload keeps those it does not change. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly sites: readonly ServingSite[]
  readonly degraded: readonly DegradedSite[]
  readonly fallback: Certificate | undefined
}

interface CompiledSite {
  readonly vhost: VhostConfig
  readonly virtualHost: VirtualHost
  readonly certificates: readonly Certificate[]
}

/** Compiles sound sites; everything of `previous` that is the same is used again. */
export function compile(
  parts: { config: Config; sites: ResolvedSites; fallback: Certificate | undefined },
  previous: Snapshot | undefined,
): Snapshot {
  const { config, sites, fallback } = parts
  const generation = (previous?.generation ?? 0) + 1
  const endpoints = new Map<string, Endpoint>()
  const compiled = sites.serving.map(({ vhost, certificates }) => {
    const action = actionOf(vhost, (answer) => endpointOf(answer, { config, endpoints, previous }))
    return { vhost, certificates, virtualHost: { id: vhost.id, action, access: vhost.log.access } }
  })
  const plans = config.listeners.map((listener) => planOf(listener, { config, generation, compiled, fallback }))
  return {
    generation,
    config,
    plans: new Map(plans.map((plan) => [addressKey(plan.config), plan])),
    endpoints,
    sites: sites.serving,
    degraded: sites.degraded,
    fallback,
  }
}

/** What serves in `previous`, by the names that `config` has for the same listeners. */
export function sitesUnder(config: Config, { plans, sites }: Snapshot): readonly ServingSite[] {
  const renames = new Map<string, string>()
  for (const listener of config.listeners) {
    const before = plans.get(addressKey(listener))?.config.name
    if (before !== undefined && before !== listener.name) renames.set(before, listener.name)
  }
  if (renames.size === 0) return sites
  return sites.map(({ vhost, certificates }) => {
    const listeners = vhost.listeners.map((name) => renames.get(name) ?? name)
    return { vhost: { ...vhost, listeners }, certificates }
  })
}

/** What makes two listeners the same; with port 0 the address is the system's choice, so their name does. */
function addressKey({ name, bind }: ListenerConfig): string {
  return bind.port === 0 ? `${name} on any port` : `${bind.host ?? '*'} ${bind.port}`
}

interface PlanParts {
  readonly config: Config
  readonly generation: number
  readonly compiled: readonly CompiledSite[]
  readonly fallback: Certificate | undefined
}

function planOf(listener: ListenerConfig, { config, generation, compiled, fallback }: PlanParts): ListenerPlan {
  const sites = sitesOf(listener, compiled)
  return {
    config: listener,
    proxyHeader: proxyHeaderRules(listener),
    limits: { ...config.limits, ...config.limits.http2 },
    timeouts: config.timeouts,
    certificates: new CertificateStore({
      sites: { get: (name) => sites.get(name)?.certificates },
      fallback,
      clock: Date.now,
    }),
    view: {
      listener: listener.name,
      generation,
      isSecure: listener.tls,
      sites: { get: (name) => sites.get(name)?.virtualHost },
      redirectToHttps: listener.redirectToHttps,
      access: config.log.access,
      logQuery: config.log.query,
      logHeaders: config.log.requestHeaders,
      heldBodies: { bytesMax: config.limits.heldBodyBytes, chunkedMs: config.timeouts.heldBodyMs },
    },
  }
}

function proxyHeaderRules({ proxyProtocol }: ListenerConfig): ProxyHeaderRules | undefined {
  if (proxyProtocol === undefined || proxyProtocol.mode === 'off') return undefined
  const { from, mode, versions } = proxyProtocol
  return { from: new AddressSet(from), mode, versions }
}

function sitesOf(listener: ListenerConfig, compiled: readonly CompiledSite[]): HostMap<CompiledSite> {
  const here = compiled.filter(({ vhost }) => vhost.listeners.includes(listener.name))
  return createHostMap(here.flatMap((site) => site.vhost.hosts.map((host) => [host, site] as const)))
}

function actionOf(vhost: VhostConfig, endpointFor: (answer: ForwardAnswer) => Endpoint): SiteAction {
  const { answer } = vhost
  if (answer.kind === 'upstream') {
    const endpoint = endpointFor(answer)
    const upstream = new Upstream({ name: endpoint.label, endpoints: [endpoint] })
    return { kind: 'forward', upstream, via: vhost.via, retries: defaultRetries(), strippedBytes: 0 }
  }
  if (answer.kind === 'redirect') {
    const origin = answer.origin === undefined ? '' : formatOrigin(answer.origin)
    return { kind: 'redirect', to: `${origin}${answer.path}`, replacedBytes: 0, status: answer.status }
  }
  return { ...answer, body: Buffer.from(answer.body) }
}

function defaultRetries(): RetryPolicy {
  return {
    attemptsMax: 2,
    causes: new Set(['connect', 'reset', 502, 503, 504]),
    budget: new RetryBudget(defaultRetryBounds, nowMs()),
  }
}

interface EndpointParts {
  readonly config: Config
  readonly endpoints: Map<string, Endpoint>
  readonly previous: Snapshot | undefined
}

function endpointOf({ upstream, timeouts }: ForwardAnswer, { config, endpoints, previous }: EndpointParts): Endpoint {
  const [{ address, label }] = upstream.endpoints
  const { headerBytes, headerCount } = config.limits
  const options = {
    address,
    label,
    timeouts: { ...timeouts, bodyIdleMs: config.timeouts.bodyIdleMs },
    limits: { headerBytes, headerCount },
  }
  const key = JSON.stringify(options)
  const endpoint = endpoints.get(key) ?? previous?.endpoints.get(key) ?? new Endpoint(options)
  endpoints.set(key, endpoint)
  return endpoint
}
