// One address that requests are sent to, with the connections that are open to it and what is known of its health. Outlives
// a reload that does not change what it is. Used by forwarding; knows neither sites nor clients.
import { isDeepStrictEqual } from 'node:util'
import type { FieldLimits } from '../http1/field-lines.js'
import type { EndpointAddress } from '../net/endpoint-address.js'
import type { ProxiedAddresses } from '../net/proxy-protocol-v2.js'
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import type { ClientConnection, ClientConnectionOwner, ClientTimeouts, Transport } from '../wire/client-connection.js'
import { nowMs } from '../wire/deadlines.js'
import type { Failure } from '../wire/failure.js'
import type { CheckConnector } from './check-exchange.js'
import { CheckedHealth } from './checked-health.js'
import { ClientPools } from './client-pools.js'
import { openConnection } from './codec.js'
import { type ConnectionChoice, ConnectionPool, type PoolOwner } from './connection-pool.js'
import { Dial, type DialObserver } from './dial.js'
import { Ejection, type EjectionOwner, type PassiveOptions } from './ejection.js'
import { HealthCheck, type HealthCheckOptions } from './health-check.js'
import { Places, type PoolLimits } from './places.js'
import { Lookups } from './resolve-lookups.js'
import type { TlsContext } from './tls-context.js'
import { DialTarget, type TargetObserver } from './transport-target.js'

export type { ConnectionChoice } from './connection-pool.js'

/** What an endpoint is: whoever changes any of it names another one. */
export interface EndpointIdentity {
  readonly address: EndpointAddress
  /** As the log and `hostward why` name it. */
  readonly label: string
  /** What is spoken; `auto` is what a TLS handshake chooses. HTTP/1 where nothing is said. */
  readonly protocol?: 'http1' | 'h2' | 'auto'
  /** Where the address asks for TLS; shared by the endpoints of an upstream. */
  readonly tls?: TlsContext | undefined
  /** For SNI and verification, normalised; undefined is the host of the address. */
  readonly serverName?: string | undefined
  /** Whether each connection begins with a PROXY header that names its client. */
  readonly tellsClient?: boolean
}

/** What may change while it lives. */
export interface EndpointSettings {
  readonly timeouts: ClientTimeouts & { readonly connectMs: number }
  readonly limits: FieldLimits
  readonly pool?: PoolLimits
  readonly passive?: PassiveOptions
  /** Undefined where nobody checks. */
  readonly healthCheck?: HealthCheckOptions | undefined
}

/** Why an endpoint is used no more, or again. */
export interface HealthChange {
  /** Whose observation: that of our own checks, or of requests. */
  readonly by: 'check' | 'requests'
  readonly detail: string
}

/** Hears of changes of health; not of each observation. */
export interface EndpointObserver {
  onDown(endpoint: Endpoint, change: HealthChange): void
  onUp(endpoint: Endpoint, change: HealthChange): void
}

/** What stands around an endpoint; each part has a default that is right for one alone. */
export interface EndpointSurroundings {
  readonly observer?: EndpointObserver
  /** Milliseconds on a clock that never jumps. */
  readonly now?: () => number
  /** Numbers from 0 up to but not including 1. */
  readonly random?: () => number
}

/** What an endpoint is made of. */
export type EndpointOptions = EndpointIdentity & EndpointSettings & EndpointSurroundings

/** The endpoints that requests could go to instead. */
export interface Peers {
  hasOther(than: Endpoint): boolean
}

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
    if (options.tellsClient === true) this.#clientPools = new ClientPools((client) => this.#makePool(client))
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

  dial(observer: DialObserver): Dial {
    return new Dial({ target: this.#target, connectMs: this.#timeouts.connectMs }, observer)
  }

  open(transport: Transport, owner: ClientConnectionOwner): ClientConnection {
    return openConnection({ transport, timeouts: this.#timeouts, limits: this.#limits, owner })
  }

  isInUse(): boolean {
    return this.connections > 0
  }

  onAddresses(): void {}

  onPeerCertificate(): void {}

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

  #startChecks(): void {
    const options = this.#settings.healthCheck
    if (options === undefined || this.#isRetired) return
    this.#check = new HealthCheck({
      options,
      connector: this,
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
    const isShared = (this.#identity.protocol ?? 'http1') !== 'http1'
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
