// Everything the configuration means, compiled and immutable: names have become references, texts bytes. The only file
// that knows both the YAML's words and the objects that run. A reload makes another one and replaces this whole.
import type { Config, ListenerConfig } from '../config/config.js'
import { differenceOf } from '../files/difference.js'
import type { ListenerView, VirtualHost } from '../http/routing.js'
import type { Http2Limits } from '../http2/limits.js'
import type { AddressRules } from '../listener/address-rules.js'
import type { ProxyHeaderRules } from '../listener/preamble.js'
import { type HostMap, HostMapBuilder } from '../net/host-map.js'
import type { Certificate } from '../tls/certificate.js'
import { CertificateStore } from '../tls/certificate-store.js'
import type { DatedThing } from '../tls/expiry-watch.js'
import {
  clientClaims,
  currentSets,
  isSameSets,
  listenerAllow,
  openAllow,
  proxyHeaderRules,
  type SiteSets,
} from './addresses.js'
import { AnnouncedOrigins } from './announced-origins.js'
import { isSameMeaning } from './changes.js'
import { clientAuthorities } from './client-authorities.js'
import { grouped } from './grouped.js'
import { type HandshakePlan, listenerHandshake, siteHandshake } from './handshake-plans.js'
import type { DegradedSite, ResolvedSites, ServingSite } from './sites.js'
import type { Stock } from './stock.js'
import { type CompiledUpstream, UpstreamCompiler, type UpstreamPlan } from './upstreams.js'
import { type SiteParts, virtualHostOf } from './virtual-hosts.js'

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
  readonly sites: readonly CompiledSite[]
  readonly degraded: readonly DegradedSite[]
  readonly fallback: Certificate | undefined
  /** Those whose client certificates are accepted. */
  readonly clientAuthorities: readonly DatedThing[]
}

/** A site with all that it is made of. */
export interface CompiledSite extends ServingSite {
  readonly virtualHost: VirtualHost
  readonly upstreams: readonly CompiledUpstream[]
  /** The address sets that it was compiled with. */
  readonly sets: SiteSets
}

/** A site as one listener serves it. */
interface ListenedSite {
  readonly site: CompiledSite
  readonly handshake: HandshakePlan
}

/** What a snapshot is compiled from. */
export interface SnapshotParts {
  readonly config: Config
  readonly sites: ResolvedSites
  readonly fallback: Certificate | undefined
  readonly stock: Stock
}

const sitesAStep = 200

/** Compiles sound sites in steps; everything of `previous` that is the same is used again. */
export function* compile(
  { config, sites, fallback, stock }: SnapshotParts,
  previous: Snapshot | undefined,
): Generator<void, Snapshot> {
  const generation = (previous?.generation ?? 0) + 1
  const upstreams = new UpstreamCompiler({ config, stock, previous })
  const before = new CompiledBefore(previous?.sites ?? [], sites.serving)
  const parts = { upstreams, clientTrusts: stock.clientTrusts, addressSets: config.addressSets }
  const compiled: CompiledSite[] = []
  for (const [index, site] of sites.serving.entries()) {
    if (index % sitesAStep === 0) yield
    compiled.push(compileSite(site, { parts, before }))
  }
  const plans: ListenerPlan[] = []
  for (const listener of config.listeners) {
    plans.push(yield* planOf(listener, { config, generation, compiled, fallback }))
  }
  yield
  return {
    generation,
    config,
    plans: new Map(plans.map((plan) => [addressKey(plan.config), plan])),
    upstreams: upstreams.plan(compiled, before.gone),
    sites: compiled,
    degraded: sites.degraded,
    fallback,
    clientAuthorities: clientAuthorities(sites.serving, stock.clientTrusts),
  }
}

interface Compilation {
  readonly parts: SiteParts
  readonly before: CompiledBefore
}

function compileSite(site: ServingSite, { parts, before }: Compilation): CompiledSite {
  const { vhost, certificates } = site
  const { upstreams, addressSets } = parts
  const sets = currentSets(vhost, addressSets)
  const same = before.sameAs(site, sets)
  if (same !== undefined) {
    upstreams.takeOver(same.upstreams)
    return same.vhost === vhost && same.certificates === certificates ? same : { ...same, vhost, certificates }
  }
  const virtualHost = virtualHostOf(vhost, parts)
  return { vhost, certificates, virtualHost, upstreams: upstreams.takeUses(), sets }
}

/** What the snapshot before this one has compiled. */
class CompiledBefore {
  /** Sites that are not what they were. */
  readonly gone: readonly CompiledSite[]
  /** The same by name; several may have one on listeners of their own. */
  readonly #goneByName: ReadonlyMap<string, readonly CompiledSite[]>

  constructor(before: readonly CompiledSite[], after: readonly ServingSite[]) {
    this.gone = differenceOf(before, after).gone
    this.#goneByName = grouped(this.gone, ({ vhost }) => [vhost.id])
  }

  /** A site that means the same, wherever it stands. */
  sameAs(site: ServingSite | CompiledSite, sets: SiteSets): CompiledSite | undefined {
    if ('virtualHost' in site) return isSameSets(site.sets, sets) ? site : undefined
    return this.#goneByName.get(site.vhost.id)?.find((each) => {
      return isSameMeaning(each.vhost, site.vhost) && isSameSets(each.sets, sets)
    })
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

function* planOf(
  listener: ListenerConfig,
  { config, generation, compiled, fallback }: PlanParts,
): Generator<void, ListenerPlan> {
  const general = listenerHandshake(listener)
  const here = compiled.filter(({ vhost }) => vhost.listeners.includes(listener.name))
  const sites = yield* hostMapOf(here, general)
  const certificatesOf = (name: string) => sites.get(name)?.site.certificates
  return {
    config: listener,
    origins: listener.announceOrigins ? announcedOrigins(here, { general, certificatesOf }) : undefined,
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
      sites: { get: (name) => sites.get(name)?.site.virtualHost },
      allow: openAllow(listener, config.addressSets),
      claims: clientClaims(listener, config.addressSets),
      redirectToHttps: listener.redirectToHttps,
      access: config.log.access,
      logQuery: config.log.query,
      logHeaders: config.log.requestHeaders,
      heldBodies: { bytesMax: config.limits.heldBodyBytes, chunkedMs: config.timeouts.heldBodyMs },
    },
  }
}

function* hostMapOf(sites: readonly CompiledSite[], general: HandshakePlan): Generator<void, HostMap<ListenedSite>> {
  const builder = new HostMapBuilder<ListenedSite>()
  for (const [index, site] of sites.entries()) {
    if (index % sitesAStep === 0) yield
    const listened = { site, handshake: handshakeOf(site, general) }
    for (const host of site.vhost.hosts) builder.add(host, listened)
  }
  return builder.build()
}

function handshakeOf({ vhost, virtualHost }: CompiledSite, general: HandshakePlan): HandshakePlan {
  return siteHandshake(vhost, virtualHost.clientCertificate?.policy, general)
}

interface Announcement {
  readonly general: HandshakePlan
  readonly certificatesOf: (name: string) => readonly Certificate[] | undefined
}

// A client that shows its certificate to one site must not be led to believe that another one has seen it.
function announcedOrigins(here: readonly CompiledSite[], { general, certificatesOf }: Announcement): AnnouncedOrigins {
  const announced = here.filter((site) => handshakeOf(site, general) === general)
  return new AnnouncedOrigins({ hosts: announced.flatMap(({ vhost }) => vhost.hosts), certificates: certificatesOf })
}
