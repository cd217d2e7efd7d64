// One address that requests are sent to, with the connections that are open to it and what is known of its health. Outlives
// a reload that does not change what it is. Used by forwarding; knows neither sites nor clients.
import { isDeepStrictEqual } from 'node:util'
import type { FieldLimits } from '../http1/field-lines.js'
import { formatOrigin } from '../net/origin.js'
import { encodeProxyV2, type ProxiedAddresses } from '../net/proxy-protocol-v2.js'
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import type { ClientConnection, ClientConnectionOwner } from '../wire/client-connection.js'
import { nowMs } from '../wire/deadlines.js'
import type { Failure } from '../wire/failure.js'
import type { CheckConnector } from './check-exchange.js'
import { CheckedHealth } from './checked-health.js'
import { ClientPools } from './client-pools.js'
import { openConnection } from './codec.js'
import { type ConnectionChoice, ConnectionPool, type PoolOwner } from './connection-pool.js'
import { Dial, type DialObserver } from './dial.js'
import { Ejection, type EjectionOwner, type PassiveOptions } from './ejection.js'
import type {
  EndpointIdentity,
  EndpointOptions,
  EndpointSettings,
  EndpointSurroundings,
  HealthChange,
  Peers,
} from './endpoint-options.js'
import { type CheckedOrigin, HealthCheck } from './health-check.js'
import { Places, type PoolLimits } from './places.js'
import { Lookups } from './resolve-lookups.js'
import type { PeerCertificate } from './tls-peer.js'
import type { EstablishedTransport } from './transport.js'
import { DialTarget, type TargetObserver } from './transport-target.js'

const defaultPool: PoolLimits = { connections: 10_000, queued: 1000, queueMs: 5000 }
const defaultPassive: PassiveOptions = { failures: 5, windowMs: 30_000, ejectMs: 10_000 }

/** Shared by all endpoints: a name that several have is looked up once. */
const lookups = new Lookups()

/** An address with its pools. */
export class Endpoint implements PoolOwner, EjectionOwner, CheckConnector, TargetObserver {
  readonly label: string
  readonly #identity: EndpointIdentity
  readonly #surroundings: EndpointSurroundings
  readonly #target: DialTarget
  #settings: EndpointSettings
  /** Copies that open connections look at, so that a change of settings reaches them. */
  readonly #timeouts: EndpointSettings['timeouts']
  readonly #limits: FieldLimits
  readonly #places: Places
  readonly #pool: ConnectionPool
  readonly #clientPools: ClientPools | undefined
  readonly #health = new CheckedHealth()
  readonly #ejection: Ejection
  #check: HealthCheck | undefined
  #peers: Peers | undefined
  #isRetired = false

  constructor(options: EndpointOptions) {
    this.#identity = options
    this.#surroundings = options
    this.#settings = options
    this.label = options.label
    const { address, protocol = 'http1', tls, serverName } = options
    this.#target = new DialTarget({ address, protocol, tls, serverName, lookups, observer: this })
    this.#timeouts = { ...options.timeouts }
    this.#limits = { ...options.limits }
    this.#places = new Places(options.pool ?? defaultPool, () => this.#closeIdle())
    this.#pool = this.#makePool(undefined)
    if (options.proxyProtocol !== undefined) this.#clientPools = new ClientPools((client) => this.#makePool(client))
    this.#ejection = new Ejection({
      options: options.passive ?? defaultPassive,
      owner: this,
      now: options.now ?? nowMs,
    })
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#pools().reduce((sum, pool) => sum + pool.connections, 0)
  }

  /** Number of requests that are in flight or wait for a connection. */
  get active(): number {
    if (this.#clientPools === undefined) return this.#pool.active
    return this.#pools().reduce((sum, pool) => sum + pool.active, 0)
  }

  /** Whether its own checks find it well, or nobody checks. */
  get isUp(): boolean {
    return this.#health.isUp
  }

  /** Whether requests may be sent: it is up, and their failures have not made it be left alone. */
  get isAvailable(): boolean {
    return this.#health.isUp && this.#ejection.admits
  }

  get isReplaceable(): boolean {
    return this.#peers?.hasOther(this) === true
  }

  /**
   * Sends a request on an open connection, or on a new one, as soon as there is one. `client` is told to endpoints that want
   * it; connections are then kept apart by client.
   */
  send(
    request: OutgoingRequest,
    observer: AttemptObserver,
    choice: ConnectionChoice,
    client?: ProxiedAddresses,
  ): Attempt {
    this.#ejection.onSent()
    const pool = client === undefined ? this.#pool : (this.#clientPools?.of(client) ?? this.#pool)
    return pool.send(request, observer, choice)
  }

  /** In use from now on, beside these peers: checks begin, or go on. */
  activate(peers: Peers): void {
    this.#peers = peers
    if (this.#check === undefined) this.#startChecks()
  }

  /** Other settings for the same endpoint: health, counts and connections stay. */
  reconfigure(settings: EndpointSettings): void {
    const isCheckedAnew = !isDeepStrictEqual(settings.healthCheck, this.#settings.healthCheck)
    this.#settings = settings
    Object.assign(this.#timeouts, settings.timeouts)
    Object.assign(this.#limits, settings.limits)
    this.#places.limits = settings.pool ?? defaultPool
    this.#places.offer()
    this.#ejection.options = settings.passive ?? defaultPassive
    if (!isCheckedAnew) return
    this.#stopChecks()
    if (settings.healthCheck === undefined && this.#health.forget()) this.#tellUp('check', 'it is checked no more')
    if (this.#peers !== undefined) this.#startChecks()
  }

  /** No longer configured: idle connections close now, the others when their exchange is over. */
  retire(): void {
    this.#isRetired = true
    this.#stopChecks()
    this.#target.close()
    for (const pool of this.#pools()) pool.retire()
  }

  dial(observer: DialObserver, client?: ProxiedAddresses): Dial {
    const proxyHeader = this.#identity.proxyProtocol === undefined ? undefined : encodeProxyV2(client ?? 'local')
    return new Dial({ target: this.#target, connectMs: this.#timeouts.connectMs, proxyHeader }, observer)
  }

  open(transport: EstablishedTransport, owner: ClientConnectionOwner): ClientConnection {
    return openConnection({ transport, timeouts: this.#timeouts, limits: this.#limits, owner })
  }

  onAnswered(status: number): void {
    this.#ejection.onAnswered(status)
  }

  onFailed(failure: Failure): void {
    this.#ejection.onFailed(failure)
  }

  onDeserted({ client }: ConnectionPool): void {
    if (client !== undefined) this.#clientPools?.forget(client)
  }

  onEjected(detail: string, pauseMs: number): void {
    const change = { by: 'requests', detail: `${detail}; left alone for ${pauseMs} ms` } as const
    this.#surroundings.observer?.onDown(this, change)
  }

  onReturned(): void {
    this.#tellUp('requests', 'a request was answered')
  }

  isInUse(): boolean {
    return this.connections > 0
  }

  onAddresses(addresses: readonly string[]): void {
    for (const pool of this.#pools()) pool.keepOnly(addresses)
  }

  onPeerCertificate(certificate: PeerCertificate, address: string): void {
    this.#surroundings.observer?.onPeerCertificate?.(this, certificate, address)
  }

  #startChecks(): void {
    const options = this.#settings.healthCheck
    if (options === undefined || this.#isRetired) return
    this.#check = new HealthCheck({
      options,
      connector: this,
      origin: originOf(this.#identity),
      health: this.#health,
      onChange: (wrong) => this.#onChecked(wrong),
      random: this.#surroundings.random ?? Math.random,
    })
  }

  #stopChecks(): void {
    this.#check?.stop()
    this.#check = undefined
  }

  #onChecked(wrong: string | undefined): void {
    if (wrong !== undefined) return this.#surroundings.observer?.onDown(this, { by: 'check', detail: wrong })
    // What requests met before it came back is no news any more.
    this.#ejection.reset()
    this.#tellUp('check', 'its checks succeed')
  }

  #tellUp(by: HealthChange['by'], detail: string): void {
    this.#surroundings.observer?.onUp(this, { by, detail })
  }

  #makePool(client: ProxiedAddresses | undefined): ConnectionPool {
    const { protocol } = this.#identity
    const isShared = protocol === 'h2' || (protocol === 'auto' && this.#target.tls !== undefined)
    const pool = new ConnectionPool({ owner: this, places: this.#places, isShared, client })
    if (this.#isRetired) pool.retire()
    return pool
  }

  #pools(): readonly ConnectionPool[] {
    return this.#clientPools === undefined ? [this.#pool] : [this.#pool, ...this.#clientPools.all()]
  }

  #closeIdle(): void {
    if (!this.#pool.closeIdle()) this.#clientPools?.closeIdle()
  }
}

/** What a request says of where it goes, when nobody else says it. */
function originOf({ address, serverName }: EndpointIdentity): CheckedOrigin {
  if (address.kind === 'unix') return { scheme: 'http', host: serverName ?? 'localhost' }
  const { port, tls } = address
  const scheme = tls ? 'https' : 'http'
  const origin = formatOrigin({ scheme, host: serverName ?? address.host, port })
  return { scheme, host: origin.slice(`${scheme}://`.length) }
}
