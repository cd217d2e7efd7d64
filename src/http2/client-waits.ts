// Everything that one connection to an endpoint waits for, as one deadline (wire/deadlines.ts). Made by the client
// connection, which tells it what has begun and ended.
import { noDeadline, type Timed } from '../wire/deadlines.js'
import { Failure } from '../wire/failure.js'
import { pongMs } from './client-limits.js'
import type { ClientStream } from './client-stream.js'
import type { ClientSession } from './session.js'

/** The connection whose waits these are. */
export interface ClientWaitsOwner extends ClientSession {
  /** Requests in flight. */
  readonly active: number
  /** The goodbye is said. */
  readonly isEnding: boolean
  /** Ends everything without a word. */
  abandon(failure: Failure): void
  /** Ends a connection that is not used. */
  leave(): void
  /** Ends everything now. */
  destroy(): void
}

/** The deadlines of one connection. */
export class ClientWaits implements Timed {
  deadlineMs: number
  readonly #owner: ClientWaitsOwner
  #greetingDueMs: number
  #idleDueMs: number
  #stallDueMs = noDeadline
  #pongDueMs = noDeadline

  constructor(owner: ClientWaitsOwner) {
    this.#owner = owner
    this.#greetingDueMs = owner.eventMs + owner.timeouts.responseMs
    this.#idleDueMs = owner.eventMs + owner.timeouts.idleMs
    this.deadlineMs = Math.min(this.#greetingDueMs, this.#idleDueMs)
  }

  /** The endpoint's SETTINGS have come. */
  greeted(): void {
    this.#greetingDueMs = noDeadline
    this.#rearm()
  }

  /** A stream was opened. */
  busy(): void {
    if (this.#stallDueMs !== noDeadline) return
    this.#stallDueMs = this.#owner.eventMs + this.#shortestWaitMs
    this.#rearm()
  }

  /** The last stream has ended. */
  idle(): void {
    this.#stallDueMs = noDeadline
    this.#idleDueMs = this.#owner.eventMs + this.#owner.timeouts.idleMs
    this.#rearm()
  }

  /** The socket takes nothing more for now. */
  blocked(): void {
    this.#rearm()
  }

  /** A PING was answered. */
  ponged(): void {
    this.#pongDueMs = noDeadline
  }

  /** The goodbye is said; the socket may take until `dueMs` to close. */
  closing(dueMs: number): void {
    this.deadlineMs = dueMs
  }

  onDeadline(now: number): void {
    const owner = this.#owner
    owner.tick()
    if (owner.isEnding) return owner.destroy()
    const { responseMs, bodyIdleMs } = owner.timeouts
    if (this.#greetingDueMs <= now) return this.#giveUp(`no SETTINGS within ${responseMs} ms`)
    if (this.#unblockDueMs <= now) return this.#giveUp(`took no byte for ${bodyIdleMs} ms`)
    if (this.#pongDueMs <= now) return this.#giveUp(`no answer to a PING within ${pongMs} ms`)
    if (this.#stallDueMs <= now) this.#expireStreams(now)
    if (owner.active === 0 && this.#idleDueMs <= now) owner.leave()
    this.#rearm()
  }

  /** When the socket will have taken nothing for too long. */
  get #unblockDueMs(): number {
    const { outbox, timeouts } = this.#owner
    return outbox.blockedSinceMs === undefined ? noDeadline : outbox.blockedSinceMs + timeouts.bodyIdleMs
  }

  /** No stream that begins to wait now is due before that. */
  get #shortestWaitMs(): number {
    const { responseMs, bodyIdleMs, tunnelIdleMs } = this.#owner.timeouts
    return Math.min(responseMs, bodyIdleMs, tunnelIdleMs)
  }

  #rearm(): void {
    if (this.#owner.isEnding) return
    const quietDueMs = this.#owner.active === 0 ? this.#idleDueMs : this.#stallDueMs
    this.deadlineMs = Math.min(this.#greetingDueMs, quietDueMs, this.#unblockDueMs, this.#pongDueMs)
  }

  // Streams say when they are due only when they are asked: telling each change would cost more than to ask now and then.
  #expireStreams(now: number): void {
    const { streams } = this.#owner
    let dueMs = now + this.#shortestWaitMs
    for (const stream of [...streams.all()]) {
      const streamDueMs = stream.dueMs
      if (streamDueMs <= now) this.#expire(stream, now)
      else dueMs = Math.min(dueMs, streamDueMs)
    }
    this.#stallDueMs = streams.size === 0 ? noDeadline : dueMs
  }

  /** A stream may be slow; a connection that is dead would let one request after another run into its timeout. */
  #expire(stream: ClientStream, now: number): void {
    stream.expire()
    if (this.#pongDueMs !== noDeadline || this.#owner.isEnding) return
    this.#owner.outbox.ping()
    this.#pongDueMs = now + pongMs
  }

  #giveUp(detail: string): void {
    this.#owner.abandon(new Failure('upstream_timeout', detail))
  }
}
