// The connections to an endpoint that may stand in for each other, and the requests that wait for one of them. Owned by an
// endpoint; a connection that becomes free serves who has waited longest, and so does a new one.
import type { ProxiedAddresses } from '../net/proxy-protocol-v2.js'
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import type { ClientConnection, ClientConnectionOwner } from '../wire/client-connection.js'
import { nowMs } from '../wire/deadlines.js'
import { Failure } from '../wire/failure.js'
import type { DialObserver } from './dial.js'
import type { Claimant, Places } from './places.js'
import { PoolDial, type PoolDialOwner } from './pool-dial.js'
import type { EstablishedTransport } from './transport.js'
import { isLocal } from './transport-errors.js'
import { WaitingAttempt, WaitingLine, type WaitingOwner } from './waiting-attempt.js'

/** Which connection an attempt may use: any, or none that is unused, for those may all have been closed by the endpoint. */
export type ConnectionChoice = 'pooled' | 'fresh'

/** The endpoint of a pool. */
export interface PoolOwner {
  /** Starts a connection, which tells the endpoint of `client` where it wants to know. */
  dial(observer: DialObserver, client: ProxiedAddresses | undefined): { cancel(): void }
  /** Gives a new connection to the codec that it was dialled for. */
  open(transport: EstablishedTransport, owner: ClientConnectionOwner): ClientConnection
  onAnswered(status: number): void
  onFailed(failure: Failure): void
  /** The pool has neither connections nor requests. */
  onDeserted(pool: ConnectionPool): void
}

/** What a pool is made of. */
export interface PoolOptions {
  readonly owner: PoolOwner
  readonly places: Places
  /** Whether requests are expected to share a connection; the first connection tells. */
  readonly isShared: boolean
  /** Whose addresses every connection of the pool tells the endpoint; undefined where none does. */
  readonly client?: ProxiedAddresses | undefined
}

/** Requests that a new HTTP/2 connection is taken to have room for before it says so (RFC 9113 §6.5.2 advises 100 at least). */
const streamsExpected = 100

/** The connections that are equal, with a line in front of them. */
export class ConnectionPool implements ClientConnectionOwner, PoolDialOwner, WaitingOwner, Claimant {
  readonly client: ProxiedAddresses | undefined
  readonly #owner: PoolOwner
  readonly #places: Places
  /** Requests that one new connection is good for; on a wire that is not known yet, one is tried first. */
  #perDial: number
  /** Requests that the connections in the making are good for. */
  #expected = 0
  /** With the address that each one goes to. */
  readonly #open = new Map<ClientConnection, string>()
  /** Unused HTTP/1 connections. */
  readonly #idle: ClientConnection[] = []
  /** HTTP/2 connections, used or not. */
  readonly #shared: ClientConnection[] = []
  readonly #dials: PoolDial[] = []
  readonly #line = new WaitingLine()
  #isRetired = false

  constructor(options: PoolOptions) {
    this.#owner = options.owner
    this.#places = options.places
    this.client = options.client
    this.#perDial = options.isShared ? streamsExpected : 1
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#open.size
  }

  /** Number of requests that are in flight or wait. */
  get active(): number {
    let streams = 0
    for (const connection of this.#shared) streams += connection.active
    return this.#open.size - this.#idle.length - this.#shared.length + streams + this.#line.size
  }

  /** Sends a request on a connection that has room, or as soon as there is one. */
  send(request: OutgoingRequest, observer: AttemptObserver, choice: ConnectionChoice): Attempt {
    const connection = choice === 'pooled' ? this.#take() : this.#sharedWithRoom(1)
    if (connection !== undefined) return connection.send(request, observer)
    return this.#wait(new WaitingAttempt(this, request, observer))
  }

  /** Connections close as soon as nobody uses them. */
  retire(): void {
    this.#isRetired = true
    for (const connection of [...this.#open.keys()]) connection.drain()
  }

  /** Connections to other addresses close as soon as nobody uses them. */
  keepOnly(addresses: readonly string[]): void {
    for (const [connection, address] of [...this.#open]) if (!addresses.includes(address)) connection.drain()
  }

  /** Closes the connection that was unused longest, and gives its place back; false where each is in use. */
  closeIdle(): boolean {
    const connection = this.#idle.shift() ?? this.#shared.find(({ active }) => active === 0)
    if (connection === undefined) return false
    this.#forget(connection)
    this.#places.vacate()
    connection.destroy()
    this.#tellDeserted()
    return true
  }

  onAvailable(connection: ClientConnection): void {
    if (!this.#open.has(connection)) return
    this.#serve(connection)
    if (connection.capacity === 0) return
    if (this.#isRetired || (connection.active === 0 && this.#places.isContended)) connection.drain()
    else if (!this.#shared.includes(connection)) this.#idle.push(connection)
  }

  onClosed(connection: ClientConnection): void {
    if (!this.#open.has(connection)) return
    this.#forget(connection)
    this.#places.release()
    this.#dialAsNeeded()
    this.#tellDeserted()
  }

  onAnswered(status: number): void {
    this.#owner.onAnswered(status)
  }

  onFailed(failure: Failure): void {
    // A connection that was closed while it was unused, or said goodbye before it served: that is how connections end.
    const isOrdinary = failure.suspect === 'connection' || failure.retry === 'always'
    if (!isOrdinary) this.#owner.onFailed(failure)
  }

  onConnected(dial: PoolDial, transport: EstablishedTransport): void {
    this.#endDial(dial)
    const isShared = transport.protocol === 'h2'
    this.#perDial = isShared ? streamsExpected : 1
    const connection = this.#owner.open(transport, this)
    this.#open.set(connection, transport.address)
    if (isShared) this.#shared.push(connection)
    const waiting = this.#line.size
    this.onAvailable(connection)
    // Another one would not help either where a new one has no room at all.
    if (!isShared || this.#line.size < waiting) this.#dialAsNeeded()
  }

  /** Fails whom the lost connection was for: those at the head of the line that no other one comes for. */
  onDialFailed(dial: PoolDial, failure: Failure): void {
    this.#endDial(dial)
    const victims: WaitingAttempt[] = []
    // While other connections are open, the others in line may still be served by one of them.
    const victimsMax = this.#open.size > 0 ? 1 : this.#perDial
    while (victims.length < victimsMax && this.#uncovered > 0) {
      const { first } = this.#line
      if (first === undefined) break
      this.#leave(first)
      victims.push(first)
    }
    if (!isLocal(failure.cause)) this.#owner.onFailed(failure)
    this.#places.release()
    this.#dialAsNeeded()
    for (const victim of victims) victim.fail(failure)
    this.#tellDeserted()
  }

  onPlaceFree(): void {
    this.#dialAsNeeded()
  }

  onAttemptOverdue(attempt: WaitingAttempt, now: number): void {
    const { queueMs } = this.#places.limits
    // A connection is on its way to it, under a deadline of its own.
    if (this.#line.isAmong(this.#expected, attempt)) return attempt.waitUntil(now + queueMs)
    this.#leave(attempt)
    attempt.fail(overloaded(`no connection was free within ${queueMs} ms`))
    this.#tellDeserted()
  }

  onAttemptLeft(attempt: WaitingAttempt): void {
    this.#leave(attempt)
    const newest = this.#dials.at(-1)
    if (newest !== undefined && this.#expected - newest.room >= this.#line.size) {
      newest.cancel()
      this.#endDial(newest)
      this.#places.release()
    }
    this.#tellDeserted()
  }

  /** Waiting requests that no connection is being made for. */
  get #uncovered(): number {
    return this.#line.size - this.#expected
  }

  /** Of the unused ones, the one used last is taken first: it is the least likely to have been closed by the other side. */
  #take(): ClientConnection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.capacity > 0) return connection
    }
    return this.#sharedWithRoom(0)
  }

  /** The first one, so that the others can fall idle and close when there is little to do. */
  #sharedWithRoom(activeMin: number): ClientConnection | undefined {
    for (const connection of this.#shared) {
      if (connection.active >= activeMin && connection.capacity > 0) return connection
    }
    return undefined
  }

  #wait(attempt: WaitingAttempt): Attempt {
    this.#line.add(attempt)
    this.#places.waiting++
    this.#dialAsNeeded()
    const { queued, queueMs } = this.#places.limits
    if (this.#uncovered > 0 && this.#places.queued > queued) {
      this.#leave(attempt)
      attempt.refuse(overloaded(`${queued} requests wait for a connection already`))
      this.#tellDeserted()
    } else {
      attempt.waitUntil(nowMs() + queueMs)
    }
    return attempt
  }

  #serve(connection: ClientConnection): void {
    for (let { first } = this.#line; first !== undefined && connection.capacity > 0; first = this.#line.first) {
      this.#leave(first)
      first.start(connection)
    }
  }

  #dialAsNeeded(): void {
    while (this.#uncovered > 0 && this.#places.claim(this)) {
      const dial = new PoolDial(this, this.#perDial)
      this.#dials.push(dial)
      this.#expect(dial.room)
      dial.start(this.#owner.dial(dial, this.client))
    }
  }

  #endDial(dial: PoolDial): void {
    this.#dials.splice(this.#dials.indexOf(dial), 1)
    this.#expect(-dial.room)
  }

  #expect(requests: number): void {
    this.#expected += requests
    this.#places.expected += requests
  }

  #leave(attempt: WaitingAttempt): void {
    this.#line.remove(attempt)
    this.#places.waiting--
    if (this.#uncovered <= 0) this.#places.forgo(this)
  }

  #forget(connection: ClientConnection): void {
    this.#open.delete(connection)
    removeFrom(this.#idle, connection)
    removeFrom(this.#shared, connection)
  }

  #tellDeserted(): void {
    if (this.#open.size + this.#line.size + this.#dials.length === 0) this.#owner.onDeserted(this)
  }
}

function removeFrom(list: ClientConnection[], connection: ClientConnection): void {
  const index = list.indexOf(connection)
  if (index !== -1) list.splice(index, 1)
}

function overloaded(detail: string): Failure {
  return new Failure('overloaded', detail, { retry: 'always' })
}
