// Finds the addresses of an endpoint and connects to the first that can be reached, within one deadline. Used by endpoints
// for every new connection. Nothing of a request has been sent when it fails, so any request may be tried elsewhere.
import { deadlines, nowMs, type Timed } from '../wire/deadlines.js'
import { Failure, type FailureCode } from '../wire/failure.js'
import type { AddressSeeker } from './resolve-addresses.js'
import { type EstablishedTransport, type Obstacle, PendingTransport, type TransportObserver } from './transport.js'
import type { DialTarget } from './transport-target.js'

/** Where to, and how long it may take. */
export interface DialOptions {
  readonly target: DialTarget
  /** For everything: the lookup of a name, connections to all its addresses, TLS. */
  readonly connectMs: number
  /** Sent ahead of everything, before TLS too. */
  readonly proxyHeader?: Buffer | undefined
}

/** Hears how a dial ends: exactly one of the two, once, unless it was cancelled; never before its constructor returns. */
export interface DialObserver {
  onConnected(transport: EstablishedTransport): void
  onFailure(failure: Failure): void
}

/** Obstacles that a failure tells of, the last ones; the rest are counted. */
const obstaclesToldMax = 4

/** One connection in the making. */
export class Dial implements Timed, AddressSeeker, TransportObserver {
  deadlineMs: number
  readonly #options: DialOptions
  readonly #observer: DialObserver
  readonly #endMs: number
  readonly #tried = new Set<string>()
  readonly #obstacles: MetObstacle[] = []
  #candidates: string[] = []
  #attempt: PendingTransport | undefined
  #sinceMs: number
  #hasAskedAgain = false
  #isSettled = false

  constructor(options: DialOptions, observer: DialObserver) {
    this.#options = options
    this.#observer = observer
    this.#sinceMs = nowMs()
    this.#endMs = this.#sinceMs + options.connectMs
    this.deadlineMs = this.#endMs
    deadlines.watch(this)
    options.target.addresses.find(this)
  }

  /** Nobody wants the connection any more; the observer hears nothing. */
  cancel(): void {
    if (!this.#settle()) return
    this.#options.target.addresses.forget(this)
    this.#attempt?.cancel()
  }

  onFound(addresses: readonly string[]): void {
    if (this.#isSettled) return
    this.#candidates = addresses.filter((address) => !this.#tried.has(address))
    this.#tryNext()
  }

  onNotFound(reason: string): void {
    if (this.#isSettled) return
    if (this.#obstacles.length === 0)
      this.#obstacles.push({ code: 'upstream_unreachable', detail: reason, cause: undefined })
    this.#fail()
  }

  onEstablished(transport: EstablishedTransport): void {
    this.#options.target.addresses.onReached(transport.address)
    if (this.#settle()) this.#observer.onConnected(transport)
  }

  onObstacle(obstacle: Obstacle): void {
    this.#obstacles.push(obstacle)
    // Another address cannot help where this process is out of descriptors, and is not to blame.
    if (obstacle.isExhausted) return this.#fail()
    this.#leaveAddress()
    this.#tryNext()
  }

  onDeadline(now: number): void {
    const phase = this.#attempt === undefined ? 'looking up the name' : this.#attempt.phase
    const waitedMs = Math.round(now - this.#sinceMs)
    this.#obstacles.push({ code: 'upstream_timeout', detail: `${phase} for ${waitedMs} ms`, cause: undefined })
    this.#leaveAddress()
    if (now >= this.#endMs) this.#fail()
    else this.#tryNext()
  }

  #tryNext(): void {
    const address = this.#candidates.shift()
    if (address === undefined) return this.#askAgain()
    const { target, proxyHeader } = this.#options
    const protocol = target.protocol === 'h2' ? 'h2' : 'http1'
    this.#tried.add(address)
    this.#shareTime()
    this.#attempt = new PendingTransport({ address, port: target.port, protocol, tls: target.tls, proxyHeader }, this)
  }

  /** An address that swallows everything must not use up the time of those behind it. */
  #shareTime(): void {
    this.#sinceMs = nowMs()
    const waiting = this.#candidates.length
    this.deadlineMs = waiting === 0 ? this.#endMs : this.#sinceMs + (this.#endMs - this.#sinceMs) / (waiting + 1)
  }

  /** Once: what a name stands for may just have changed. */
  #askAgain(): void {
    if (this.#hasAskedAgain) return this.#fail()
    this.#hasAskedAgain = true
    this.#shareTime()
    this.#options.target.addresses.findAgain(this)
  }

  #leaveAddress(): void {
    const attempt = this.#attempt
    this.#attempt = undefined
    if (attempt === undefined) return
    attempt.cancel()
    this.#options.target.addresses.onUnreachable(attempt.address)
  }

  #fail(): void {
    if (!this.#settle()) return
    this.#options.target.addresses.forget(this)
    this.#attempt?.cancel()
    const last = this.#obstacles.at(-1)
    const detail = detailOf(this.#obstacles)
    const code = last?.code ?? 'upstream_unreachable'
    this.#observer.onFailure(new Failure(code, detail, { retry: 'always', cause: last?.cause }))
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    deadlines.forget(this)
    return true
  }
}

/** An obstacle, or that time was up. */
interface MetObstacle {
  readonly code: FailureCode
  readonly detail: string
  readonly cause: Error | undefined
}

function detailOf(obstacles: readonly MetObstacle[]): string {
  const told = obstacles.slice(-obstaclesToldMax).map(({ detail }) => detail)
  const untold = obstacles.length - told.length
  return (untold === 0 ? told : [`${untold} more addresses in vain`, ...told]).join('; ')
}
