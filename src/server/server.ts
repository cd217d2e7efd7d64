// Owns what serves: the current snapshot, its listeners and the log. The only place that knows everybody.
// A snapshot is put into service by one assignment, after everything that can fail has been done.
import type { ConfigError } from '../config/config-error.js'
import { differenceOf } from '../files/difference.js'
import { OpenTunnels } from '../http/open-tunnels.js'
import { HandshakeFailures } from '../listener/handshake-failures.js'
import { Listener, type ListenerSettings } from '../listener/listener.js'
import type { Certificate } from '../tls/certificate.js'
import { ContextCache } from '../tls/context-cache.js'
import { TicketKeys } from '../tls/ticket-keys.js'
import type { ShelvedPair } from './certificate-shelf.js'
import { CertificateWatch } from './certificate-watch.js'
import { clockDoubt } from './clock.js'
import { connectionHooks } from './connection-hooks.js'
import { EndpointWatch } from './endpoint-watch.js'
import { ListenerSet, type Plans } from './listener-set.js'
import { Reload } from './reload.js'
import { runtimeAdvice } from './runtime.js'
import { ServerLog } from './server-log.js'
import { closedPlan, type ListenerPlan, type Snapshot } from './snapshot.js'
import { retireUpstreams, serveUpstreams } from './upstreams.js'

const connectionsReportMs = 3_600_000
const failuresSweepMs = 10_000
/** How long after its end the certificate of a client may keep a tunnel open. */
const tunnelsReviewMs = 5_000

/** One listener as it serves. */
export interface ListenerStatus {
  readonly key: string
  readonly name: string
  readonly address: string
  readonly port: number
  readonly tls: boolean
}

/** What a server is made of. */
export interface ServerOptions {
  readonly mainFile: string
  /** Whether it does not start where a site cannot serve as configured. */
  readonly isStrict?: boolean
}

/** A running Hostward. Whoever starts it closes it. */
export class Server {
  readonly #isStrict: boolean
  readonly #log = new ServerLog()
  readonly #reload: Reload
  readonly #listeners = new ListenerSet((key, plan) => this.#listenerOf(key, plan))
  readonly #certificates = new CertificateWatch(() => this.#log.current)
  readonly #endpoints = new EndpointWatch({
    log: () => this.#log.current,
    onCertificates: (things) => this.#certificates.followUpstreams(things),
  })
  readonly #failures: HandshakeFailures
  readonly #ticketKeys = new TicketKeys({ clock: Date.now })
  readonly #contexts = new ContextCache()
  readonly #tunnels = new OpenTunnels()
  readonly #timers: NodeJS.Timeout[] = []
  #snapshot: Snapshot | undefined
  /** What listeners serve that are open already, until the snapshot they belong to is in service. */
  #opening: Plans = new Map()
  #closed: Promise<void> | undefined

  constructor(options: ServerOptions) {
    this.#isStrict = options.isStrict ?? false
    this.#failures = new HandshakeFailures({
      report: (line) =>
        this.#log.current.info('handshake_failed', 'a connection ended before its first request', { ...line }),
      now: () => performance.now(),
    })
    this.#reload = new Reload({
      mainFile: options.mainFile,
      log: () => this.#log.current,
      current: () => this.#snapshot,
      apply: (snapshot) => this.#apply(snapshot),
      endpointObserver: this.#endpoints,
      onCertificates: (pairs) => this.#followFiles(pairs),
      onBug: (error) => this.reportBug(error),
    })
  }

  /** Loads the configuration and serves it; the mistakes that forbid that, none where it serves. */
  async start(): Promise<readonly ConfigError[]> {
    const errors = await this.#reload.start()
    if (errors.length > 0) return errors
    const doubt = clockDoubt(Date.now())
    if (doubt !== undefined) this.#log.current.error('clock_wrong', doubt)
    const advice = runtimeAdvice(process.versions.node)
    if (advice !== undefined) this.#log.current.warn('runtime_outdated', advice, { node: process.versions.node })
    this.#timers.push(setInterval(() => this.#reportConnections(), connectionsReportMs).unref())
    this.#timers.push(setInterval(() => this.#failures.sweep(), failuresSweepMs).unref())
    this.#timers.push(setInterval(() => this.#reviewTunnels(), tunnelsReviewMs).unref())
    return errors
  }

  /** Reads all files again and serves what they say now; the mistakes that keep it from doing so. */
  async reload(): Promise<readonly ConfigError[]> {
    return await this.#reload.now()
  }

  /** The listeners that accept, in the order of the configuration. */
  get listeners(): readonly ListenerStatus[] {
    const plans = this.#snapshot?.plans ?? new Map<string, ListenerPlan>()
    return [...plans].map(([key, { config }]) => {
      const { address = '', port = 0 } = this.#listeners.get(key)?.address ?? {}
      return { key, name: config.name, address, port, tls: config.tls }
    })
  }

  /** Opens the log's file anew under its name, after it was rotated away. */
  reopenLog(): void {
    this.#log.current.reopen()
  }

  /** Tells of a mistake of Hostward itself that nobody caught; what serves goes on. */
  reportBug(error: unknown): void {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    this.#log.current.error('internal_error', message, { stack })
  }

  /** Stops accepting, lets what is in flight end within `timeouts.shutdownMs`, and closes everything. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#reload.close()
    this.#certificates.close()
    await this.#listeners.close(this.#snapshot?.config.timeouts.shutdownMs ?? 0)
    if (this.#snapshot !== undefined) retireUpstreams(this.#snapshot.upstreams)
    this.#failures.flush()
    this.#reportConnections()
    this.#log.current.info('shutdown', 'everything is closed')
    await this.#log.current.close()
  }

  /** What can fail: a start that is strict, the log's file and the listeners' addresses. */
  async #apply(snapshot: Snapshot): Promise<readonly ConfigError[]> {
    const mistakes = this.#mistakesAtStart(snapshot)
    if (mistakes.length > 0) return mistakes
    const log = this.#log.prepare(snapshot.config.log)
    if ('error' in log) return [log.error]
    this.#opening = snapshot.plans
    const prepared = await this.#listeners.prepare(snapshot.plans)
    this.#opening = new Map()
    if ('errors' in prepared) {
      log.abandon()
      return prepared.errors
    }
    const previous = this.#snapshot
    this.#snapshot = snapshot
    log.commit()
    this.#listeners.commit(prepared.opened, snapshot.plans, snapshot.config.timeouts.shutdownMs)
    for (const key of prepared.opened.keys()) this.#reportListening(key)
    serveUpstreams(snapshot.upstreams, previous?.upstreams)
    this.#endpoints.follow(snapshot.sites)
    this.#reviewTunnels()
    this.#contexts.forget(certificatesGone(previous, snapshot))
    this.#certificates.follow(snapshot)
    return []
  }

  /** Before anything is opened: a start that ends must not have taken a connection. */
  #mistakesAtStart({ degraded }: Snapshot): readonly ConfigError[] {
    return this.#isStrict && this.#snapshot === undefined ? degraded.flatMap(({ errors }) => errors) : []
  }

  /** Those that would be refused now end like requests do when the server stops. */
  #reviewTunnels(): void {
    this.#tunnels.review(this.#snapshot?.config.timeouts.shutdownMs ?? 0)
  }

  #followFiles(pairs: readonly ShelvedPair[]): void {
    if (this.#snapshot !== undefined) this.#certificates.followFiles(pairs, this.#snapshot)
  }

  #listenerOf(key: string, plan: ListenerPlan): Listener {
    const { name, bind } = plan.config
    const current = this.#planSource(key, plan)
    return new Listener({
      name,
      host: bind.host,
      port: bind.port,
      settings: () => this.#settingsOf(key, current()),
      hooks: connectionHooks({
        plan: current,
        ticketKeys: this.#ticketKeys,
        contexts: this.#contexts,
        tunnels: this.#tunnels,
        log: () => this.#log.current,
        onHandshakeFailed: (failure) => this.#failures.record(failure),
      }),
    })
  }

  /** Gives a listener what it serves: its own plan until that is in service, the current snapshot's then, nothing in the end. */
  // The closure must not hold the plan itself: certificates that have left the configuration would stay in memory.
  #planSource(key: string, plan: ListenerPlan): () => ListenerPlan {
    const closed = closedPlan(plan)
    return () => this.#snapshot?.plans.get(key) ?? this.#opening.get(key) ?? closed
  }

  /** The bound on connections is for all listeners together. */
  #settingsOf(key: string, { config, limits, timeouts, proxyHeader, allow }: ListenerPlan): ListenerSettings {
    const { tls, http2 } = config
    const elsewhere = this.#listeners.openConnections - (this.#listeners.get(key)?.counters.open ?? 0)
    const connectionsMax = limits.connections - elsewhere
    return { tls, http2, handshakeMs: timeouts.handshakeMs, connectionsMax, proxyHeader, allow }
  }

  #reportListening(key: string): void {
    const listener = this.listeners.find((each) => each.key === key)
    if (listener === undefined) return
    const { name, address, port, tls } = listener
    this.#log.current.info('listening', `${name} accepts connections`, { listener: name, address, port, tls })
  }

  #reportConnections(): void {
    for (const [key, { name, counters }] of this.#listeners.all()) {
      // A reload may have given the address another name.
      const listener = this.#snapshot?.plans.get(key)?.config.name ?? name
      this.#log.current.info('connections', 'connections so far', { listener, ...counters })
    }
  }
}

/** What nothing shows any more. */
function certificatesGone(before: Snapshot | undefined, after: Snapshot): ReadonlySet<Certificate> {
  const gone = new Set(before?.fallback === undefined ? [] : [before.fallback])
  for (const site of differenceOf(before?.sites ?? [], after.sites).gone) {
    for (const certificate of site.certificates) gone.add(certificate)
  }
  if (gone.size === 0) return gone
  if (after.fallback !== undefined) gone.delete(after.fallback)
  for (const { certificates } of after.sites) for (const certificate of certificates) gone.delete(certificate)
  return gone
}
