// Everything the configuration means, compiled and immutable: names have become references, texts bytes. The only file
// that knows both the YAML's words and the objects that run. A reload makes another one and replaces this whole.
import type { Config, ListenerConfig, VhostConfig } from '../config/config.js'
import type { ListenerView, VirtualHost } from '../http/routing.js'
import type { Http2Limits } from '../http2/limits.js'
import type { AddressRules } from '../listener/address-rules.js'
import type { ProxyHeaderRules } from '../listener/preamble.js'
import { createHostMap } from '../net/host-map.js'
import type { Certificate } from '../tls/certificate.js'
import { CertificateStore } from '../tls/certificate-store.js'
import type { DatedThing } from '../tls/expiry-watch.js'
import { clientClaims, listenerAllow, proxyHeaderRules } from './addresses.js'
import { AnnouncedOrigins } from './announced-origins.js'
import { clientAuthorities } from './client-authorities.js'
import { type HandshakePlan, listenerHandshake, siteHandshake } from './handshake-plans.js'
import type { Stock } from './load.js'
import { type SiteTunnels, siteTunnels } from './site-tunnels.js'
import type { DegradedSite, ResolvedSites, ServingSite } from './sites.js'
import { UpstreamCompiler, type UpstreamPlan } from './upstreams.js'
import { virtualHostOf } from './virtual-hosts.js'

/** What one listener serves. */
export interface ListenerPlan {
  readonly config: ListenerConfig
  readonly view: ListenerView
  readonly proxyHeader: ProxyHeaderRules | undefined
  /** Undefined takes everybody. */
  readonly allow: AddressRules | undefined
  /** Chooses what a handshake is answered with. */
  readonly certificates: CertificateStore
  /** On what terms; undefined stands for a name that cannot be a site's. */
  readonly handshakeFor: (serverName: string | undefined) => HandshakePlan
  /** Undefined where the listener announces nothing. */
  readonly origins: AnnouncedOrigins | undefined
  readonly limits: Config['limits'] & Http2Limits
  readonly timeouts: Config['timeouts']
}

/** The plan of a listener that is configured no more and only drains: every host is unknown. */
export function closedPlan(plan: ListenerPlan): ListenerPlan {
  const sites = { get: () => undefined }
  const certificates = new CertificateStore({ sites, fallback: undefined, clock: Date.now })
  const handshake = listenerHandshake(plan.config)
  return { ...plan, certificates, handshakeFor: () => handshake, view: { ...plan.view, sites } }
}

/** A compiled configuration. */
export interface Snapshot {
  readonly generation: number
  readonly config: Config
  /** By bound address: a listener outlives a reload that does not move it. */
  readonly plans: ReadonlyMap<string, ListenerPlan>
  readonly upstreams: UpstreamPlan
  readonly tunnels: SiteTunnels
  readonly sites: readonly ServingSite[]
  readonly degraded: readonly DegradedSite[]
  readonly fallback: Certificate | undefined
  /** Those whose client certificates are accepted. */
  readonly clientAuthorities: readonly DatedThing[]
}

interface CompiledSite {
  readonly vhost: VhostConfig
  readonly virtualHost: VirtualHost
  readonly certificates: readonly Certificate[]
}

/** A site as one listener serves it. */
interface ListenedSite extends CompiledSite {
  readonly handshake: HandshakePlan
}

/** Compiles sound sites; everything of `previous` that is the same is used again. */
export function compile(
  parts: { config: Config; sites: ResolvedSites; fallback: Certificate | undefined; stock: Stock },
  previous: Snapshot | undefined,
): Snapshot {
  const { config, sites, fallback, stock } = parts
  const generation = (previous?.generation ?? 0) + 1
  const upstreams = new UpstreamCompiler({ config, stock, previous: previous?.upstreams })
  const tunnels = siteTunnels(
    sites.serving.map(({ vhost }) => vhost),
    previous?.tunnels,
  )
  const siteParts = { upstreams, tunnels, clientTrusts: stock.clientTrusts, addressSets: config.addressSets }
  const compiled = sites.serving.map(({ vhost, certificates }) => {
    return { vhost, certificates, virtualHost: virtualHostOf(vhost, siteParts) }
  })
  const plans = config.listeners.map((listener) => planOf(listener, { config, generation, compiled, fallback }))
  return {
    generation,
    config,
    plans: new Map(plans.map((plan) => [addressKey(plan.config), plan])),
    upstreams: upstreams.plan(),
    tunnels,
    sites: sites.serving,
    degraded: sites.degraded,
    fallback,
    clientAuthorities: clientAuthorities(sites.serving, stock.clientTrusts),
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
  const general = listenerHandshake(listener)
  const here = compiled
    .filter(({ vhost }) => vhost.listeners.includes(listener.name))
    .map((site): ListenedSite => {
      const { vhost, virtualHost } = site
      return { ...site, handshake: siteHandshake(vhost, virtualHost.clientCertificate?.policy, general) }
    })
  const sites = createHostMap(here.flatMap((site) => site.vhost.hosts.map((host) => [host, site] as const)))
  const certificatesOf = (name: string) => sites.get(name)?.certificates
  // A client that shows its certificate to one site must not be led to believe that another one has seen it.
  const announced = here.filter(({ handshake }) => handshake === general)
  const hosts = announced.flatMap(({ vhost }) => vhost.hosts)
  return {
    config: listener,
    origins: listener.announceOrigins ? new AnnouncedOrigins({ hosts, certificates: certificatesOf }) : undefined,
    handshakeFor: (name) => (name === undefined ? undefined : sites.get(name)?.handshake) ?? general,
    proxyHeader: proxyHeaderRules(listener, config.addressSets),
    allow: listenerAllow(listener, config.addressSets),
    limits: { ...config.limits, ...config.limits.http2 },
    timeouts: config.timeouts,
    certificates: new CertificateStore({
      sites: { get: certificatesOf },
      fallback,
      clock: Date.now,
    }),
    view: {
      listener: listener.name,
      generation,
      isSecure: listener.tls,
      sites: { get: (name) => sites.get(name)?.virtualHost },
      claims: clientClaims(listener, config.addressSets),
      redirectToHttps: listener.redirectToHttps,
      access: config.log.access,
      logQuery: config.log.query,
      logHeaders: config.log.requestHeaders,
      heldBodies: { bytesMax: config.limits.heldBodyBytes, chunkedMs: config.timeouts.heldBodyMs },
    },
  }
}
