// One HTTP/2 connection to an endpoint (RFC 9113, the client's side): from the preface to the goodbye. Owned by an
// endpoint's pool; ties inbox, outbox and streams together and keeps their deadlines.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import type { ClientConnection, ClientConnectionOwner, ClientTimeouts, Transport } from '../wire/client-connection.js'
import { deadlines, nowMs } from '../wire/deadlines.js'
import { Failure } from '../wire/failure.js'
import { AnnouncedSettings } from './announced-settings.js'
import { ControlBudget } from './armour.js'
import { clientBounds, clientSettings, resetBounds } from './client-limits.js'
import { ClientStream } from './client-stream.js'
import { ClientWaits, type ClientWaitsOwner } from './client-waits.js'
import { closedHere, goodbyeFailure, left, neverSent, noSwitch, resetFailure, retried } from './endpoint-failures.js'
import type { SectionLimits } from './field-section.js'
import { WindowPool } from './flow-control.js'
import { ErrorCode, windowBytesMax } from './frames.js'
import { Inbox } from './inbox.js'
import { Outbox } from './outbox.js'
import { PacedResets, type PacedResetsOwner, type ResetBounds } from './paced-resets.js'
import { PendingAttempts, type PendingOwner } from './pending-attempts.js'
import { ResponseIntake } from './response-intake.js'
import type { Blame, ClientSession, WireBounds } from './session.js'
import { StreamTable } from './stream-table.js'

/** What a client connection is made of. */
export interface Http2ClientConnectionOptions {
  readonly transport: Transport
  readonly timeouts: ClientTimeouts
  readonly limits: SectionLimits
  readonly owner: ClientConnectionOwner
  /** The id of the first stream, for tests that use up all ids. */
  readonly firstStreamId?: number
  /** Other bounds than those of every connection, for tests that give up thousands of streams. */
  readonly resets?: ResetBounds
}

const blame: Blame = { protocol: 'upstream_protocol', body: 'upstream_protocol', flood: 'upstream_protocol' }

/** Whose parts they are. */
type Owner = PendingOwner & ClientWaitsOwner & PacedResetsOwner

/** Sends requests over one connection until either side ends it. */
export class Http2ClientConnection implements ClientConnection, ClientSession, Owner {
  readonly peer = 'server'
  readonly blame = blame
  readonly limits: WireBounds
  readonly timeouts: ClientTimeouts
  readonly outbox: Outbox
  readonly streams = new StreamTable<ClientStream>()
  readonly armour: ControlBudget
  readonly pool: WindowPool
  readonly resets: PacedResets
  eventMs = nowMs()
  readonly #socket: Socket
  readonly #owner: ClientConnectionOwner
  readonly #inbox: Inbox
  readonly #pending = new PendingAttempts(this)
  readonly #waits: ClientWaits
  #state: 'open' | 'leaving' | 'closing' | 'closed' = 'open'
  #nextId: number
  readonly #settings: AnnouncedSettings
  /** Streams above were not looked at by the endpoint (RFC 9113 §6.8). */
  #lastServedId = windowBytesMax
  #hasServed = false
  #isOwnerTold = false
  #error: Error | undefined

  constructor(options: Http2ClientConnectionOptions) {
    this.#owner = options.owner
    this.#socket = options.transport.socket
    this.timeouts = options.timeouts
    this.limits = clientBounds(options.limits)
    this.armour = new ControlBudget(this.limits, this.eventMs)
    this.pool = new WindowPool(this.limits.windowPoolBytes)
    this.outbox = new Outbox(this, this.#socket)
    this.#inbox = new Inbox(this, new ResponseIntake(this))
    this.#settings = new AnnouncedSettings(this.limits.concurrentStreams)
    this.#nextId = options.firstStreamId ?? 1
    this.#waits = new ClientWaits(this)
    this.resets = new PacedResets(this, options.resets ?? resetBounds)
    options.transport.onBytes = (chunk) => this.#receive(chunk)
    this.#listen()
    this.#greet()
  }

  get capacity(): number {
    if (this.#state !== 'open' || !this.#socket.writable || this.outbox.isOverfull) return 0
    return Math.max(0, this.#settings.streamsMax - this.active)
  }

  get active(): number {
    return this.streams.size + this.#pending.size
  }

  send(request: OutgoingRequest, observer: AttemptObserver): Attempt {
    this.tick()
    if (this.canOpen(request)) return this.open(request, observer)
    return this.#pending.add(request, observer)
  }

  drain(): void {
    if (this.#state !== 'open') return
    this.#state = 'leaving'
    if (this.active === 0) this.leave()
  }

  destroy(): void {
    this.abandon(closedHere)
  }

  tick(): number {
    this.eventMs = nowMs()
    return this.eventMs
  }

  fault(streamId: number, code: number, failure: Failure): void {
    this.streams.get(streamId)?.resetWith(code, failure)
  }

  fail(code: number, failure: Failure): void {
    if (this.isEnding) return
    const isGreeted = this.#inbox.isGreeted
    const detail = isGreeted ? failure.detail : `the endpoint does not speak HTTP/2: ${failure.detail}`
    this.#close(code, new Failure(failure.code, detail))
  }

  blocked(): void {
    this.#waits.blocked()
  }

  announced(id: number, value: number): void {
    if (this.#settings.take(id, value)) return
    this.fail(ErrorCode.protocolError, new Failure('upstream_protocol', `setting ${id} may not be ${value} here`))
  }

  settled(): void {
    const hadMax = this.#settings.streamsMax
    this.#settings.apply()
    this.#waits.greeted()
    this.settlePending()
    if (this.#settings.streamsMax > hadMax) this.#offer()
  }

  pinged(): void {
    this.#waits.ponged()
  }

  wasReset(stream: ClientStream | undefined, code: number): boolean {
    if (stream === undefined) return this.resets.takesLate() || this.armour.takesControl(this.eventMs)
    stream.break(resetFailure(code, stream.hasAnswerBegun ? 'begun' : 'unanswered'))
    return true
  }

  left(lastStreamId: number, code: number, text: string): void {
    if (this.isEnding) return
    if (lastStreamId > this.#lastServedId) {
      return this.fail(ErrorCode.protocolError, new Failure('upstream_protocol', 'a GOAWAY that takes streams back'))
    }
    this.#lastServedId = lastStreamId
    this.retire()
    const unserved = goodbyeFailure(code, text)
    for (const stream of [...this.streams.all()]) if (stream.id > lastStreamId) stream.break(unserved)
    this.settlePending()
  }

  closed(stream: ClientStream): void {
    this.streams.remove(stream)
    if (this.isEnding) return
    if (this.#pending.size > 0) this.settlePending()
    if (this.active > 0) return this.#offer()
    if (this.#state === 'leaving') return this.leave()
    this.#waits.idle()
    this.#offer()
  }

  answered(status: number): void {
    this.#hasServed = true
    this.#owner.onAnswered(status)
  }

  failed(failure: Failure): void {
    this.#owner.onFailed(failure)
  }

  settlePending(): void {
    this.#pending.settle()
    if (this.#state === 'leaving' && this.active === 0) this.leave()
  }

  refusalOf(request: OutgoingRequest): Failure | undefined {
    if (this.#state !== 'open') return neverSent
    const isRefused = request.upgrade !== undefined && this.#inbox.isGreeted && !this.#settings.offersConnect
    return isRefused ? noSwitch : undefined
  }

  canOpen(request: OutgoingRequest): boolean {
    const mayAsk = request.upgrade === undefined || this.#settings.offersConnect
    return this.#state === 'open' && mayAsk && this.streams.size < this.#settings.streamsMax
  }

  open(request: OutgoingRequest, observer: AttemptObserver): ClientStream {
    const { fields } = request
    assert(fields !== undefined, 'a request on HTTP/2 has the fields of HTTP/2')
    const stream = new ClientStream(this, { id: this.#nextId, request, observer })
    this.#nextId += 2
    this.streams.lastId = stream.id
    this.streams.add(stream)
    if (this.#nextId > windowBytesMax) this.retire()
    this.#waits.busy()
    stream.start(fields)
    return stream
  }

  retire(): void {
    if (this.#state === 'open') this.#state = 'leaving'
    this.#tellOwner()
  }

  /** Nothing is in flight and nothing more will come. */
  leave(): void {
    if (!this.isEnding) this.#close(ErrorCode.noError, left)
  }

  /** Ends everything without a word: the endpoint could not hear it. */
  abandon(failure: Failure): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#inbox.reader.stop()
    this.#breakAll(failure)
    this.outbox.close()
    this.#socket.destroy()
  }

  get isEnding(): boolean {
    return this.#state === 'closing' || this.#state === 'closed'
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('drain', () => this.#drained())
    socket.on('end', () => this.#ended())
    socket.on('error', (error: Error) => {
      this.#error = error
    })
    socket.on('close', () => {
      this.#ended()
      deadlines.forget(this.#waits)
      this.resets.close()
    })
  }

  #greet(): void {
    this.outbox.preface()
    this.outbox.settings(clientSettings(this.limits))
    this.#inbox.openWindow()
    deadlines.watch(this.#waits)
  }

  #receive(chunk: Buffer): void {
    if (this.isEnding) return
    this.tick()
    this.#inbox.reader.push(chunk, 0)
  }

  #drained(): void {
    const wasOverfull = this.outbox.isOverfull
    this.outbox.drained()
    if (wasOverfull) this.#offer()
  }

  #offer(): void {
    if (this.capacity > 0) this.#owner.onAvailable(this)
  }

  #tellOwner(): void {
    if (this.#isOwnerTold) return
    this.#isOwnerTold = true
    this.#owner.onClosed(this)
  }

  #close(code: number, failure: Failure): void {
    this.#state = 'closing'
    this.#inbox.reader.stop()
    this.outbox.goaway(0, code, failure.detail)
    this.#breakAll(failure)
    this.outbox.finish()
    this.#waits.closing(this.tick() + this.limits.closeMs)
    this.#socket.destroySoon()
  }

  #breakAll(failure: Failure): void {
    this.#tellOwner()
    // One that has served before most likely closed before the request reached it; a new one says something of the endpoint.
    const suspect = this.#hasServed ? 'connection' : 'endpoint'
    const early = retried(failure, { retry: 'if_idempotent', suspect })
    const unsent = retried(failure, { retry: 'always', suspect })
    for (const stream of [...this.streams.all()]) {
      if (stream.isUnsent) stream.break(unsent)
      else stream.break(stream.hasAnswerBegun ? failure : early)
    }
    this.#pending.fail(unsent)
  }

  #ended(): void {
    const detail = this.#error?.message ?? 'the endpoint closed the connection'
    this.abandon(new Failure('upstream_reset', detail, { cause: this.#error }))
  }
}
