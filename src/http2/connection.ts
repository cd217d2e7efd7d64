// One HTTP/2 connection on a decrypted socket (RFC 9113): from the preface to the goodbye. Ties inbox, outbox and streams
// together, keeps their deadlines, and is the only file here that opens or closes anything.
import type { Socket } from 'node:net'
import type { Connection } from '../wire/connection.js'
import { deadlines, noDeadline, nowMs, type Timed } from '../wire/deadlines.js'
import type { RequestService, ServedConnection, ServingOptions, WireLimits } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import { HeaderBlock } from '../wire/header-block.js'
import { leastBytes } from '../wire/pace.js'
import { Armour } from './armour.js'
import { WindowPool } from './flow-control.js'
import { ErrorCode, preface, windowBytesMax } from './frames.js'
import { Inbox } from './inbox.js'
import { announcedSettings, type Http2Limits } from './limits.js'
import { Outbox } from './outbox.js'
import { report } from './refusals.js'
import { RequestIntake } from './request-intake.js'
import type { Blame, Session } from './session.js'
import type { Http2Stream } from './stream.js'
import { StreamTable } from './stream-table.js'

/** What a connection is served with. */
export interface Http2ConnectionOptions extends ServingOptions<WireLimits & Http2Limits> {
  /** The payload of an ORIGIN frame (RFC 8336), which tells what other hosts the connection serves. */
  readonly origins?: Buffer | undefined
  /** The clock, for tests that let minutes pass. */
  readonly nowMs?: () => number
}

const blame: Blame = { protocol: 'bad_request', body: 'bad_body', flood: 'flood' }
const gone = new Failure('client_gone', 'the client closed the connection')
const emptyHead = new HeaderBlock()
emptyHead.add('content-length', '0')

/** Serves the requests of one connection until either side ends it. */
export class Http2Connection implements ServedConnection, Session, Timed {
  readonly connection: Connection
  readonly service: RequestService
  readonly outbox: Outbox
  readonly streams = new StreamTable<Http2Stream>()
  readonly blame = blame
  readonly peer = 'client'
  readonly armour: Armour
  readonly pool: WindowPool
  eventMs: number
  deadlineMs = noDeadline
  requests = 0
  readonly #options: Http2ConnectionOptions
  readonly #socket: Socket
  readonly #nowMs: () => number
  readonly #inbox: Inbox
  #prefaceBytes = 0
  #progress = -1
  #state: 'open' | 'draining' | 'drained' | 'closing' | 'closed' = 'open'
  #headDueMs: number
  #idleDueMs: number
  #stallDueMs = noDeadline
  #goodbyeDueMs = noDeadline

  constructor(options: Http2ConnectionOptions) {
    this.#options = options
    this.#socket = options.socket
    this.connection = options.connection
    this.service = options.service
    this.#nowMs = options.nowMs ?? nowMs
    this.eventMs = this.#nowMs()
    const { limits } = this
    const { headersMs, idleMs } = options.timeouts()
    this.armour = new Armour(limits, this.eventMs)
    this.pool = new WindowPool(limits.windowPoolBytes)
    this.outbox = new Outbox(this, options.socket)
    this.#inbox = new Inbox(this, new RequestIntake(this))
    this.#headDueMs = this.eventMs + headersMs
    this.#idleDueMs = this.eventMs + idleMs
    this.#listen()
    this.outbox.settings(announcedSettings(limits))
    if (options.origins !== undefined) this.outbox.origins(options.origins)
    this.#inbox.openWindow()
    this.#rearm()
    deadlines.watch(this)
  }

  get limits(): WireLimits & Http2Limits {
    return this.#options.limits()
  }

  tick(): number {
    this.eventMs = this.#nowMs()
    return this.eventMs
  }

  get isTaking(): boolean {
    return this.#state === 'open' || this.#state === 'draining'
  }

  opened(stream: Http2Stream): void {
    this.requests++
    this.streams.add(stream)
    if (this.#stallDueMs === noDeadline) this.#stallDueMs = this.eventMs + this.#options.timeouts().bodyIdleMs
  }

  closed(stream: Http2Stream): void {
    this.streams.remove(stream)
    if (this.streams.size > 0) return
    this.#idleDueMs = this.eventMs + this.#options.timeouts().idleMs
    this.#stallDueMs = noDeadline
    this.#rearm()
    if (this.#state === 'drained') this.#leave()
  }

  refuse(stream: Http2Stream, failure: Failure): void {
    report(this, failure, failure.status, stream.request)
    stream.respond({ status: failure.status, reason: '', headers: emptyHead }, undefined)
  }

  fault(streamId: number, code: number, failure: Failure): void {
    if (!this.armour.takesFault(this.eventMs)) {
      this.fail(ErrorCode.enhanceYourCalm, new Failure('flood', `stream errors, the last one: ${failure.detail}`))
      return
    }
    const stream = this.streams.get(streamId)
    if (stream !== undefined) {
      stream.resetWith(code, failure)
      return
    }
    this.outbox.rstStream(streamId, code)
    this.streams.remember(streamId, 'reset_here')
  }

  fail(code: number, failure: Failure): void {
    if (this.#isEnding) return
    this.#close(code, failure)
    report(this, failure, null, {})
    // Whoever floods is not listened to any longer; anybody else gets the time to read what was wrong.
    if (failure.code === 'flood') this.#socket.destroySoon()
  }

  blocked(): void {
    this.#rearm()
  }

  pinged(): void {
    if (this.#state === 'draining') this.#announceLast()
  }

  // No setting of a client says more than its frames do already.
  announced(): void {}

  settled(): void {}

  wasReset(stream: Http2Stream | undefined): boolean {
    if (stream === undefined) return this.armour.takesControl(this.eventMs)
    if (!this.armour.takesReset(this.eventMs)) return false
    stream.break(new Failure('client_gone', 'the client reset the stream'))
    return true
  }

  left(): void {
    if (this.streams.size === 0) this.#leave()
    else if (this.#state !== 'closing') this.#state = 'drained'
  }

  /** RFC 9113 §6.8: a warning first, and the last stream's id once what was on its way has arrived. */
  drain(): void {
    if (this.#state !== 'open') return
    this.#state = 'draining'
    this.outbox.goaway(windowBytesMax, ErrorCode.noError, '')
    this.outbox.ping()
    this.#goodbyeDueMs = this.tick() + this.limits.closeMs
    this.#rearm()
  }

  destroy(): void {
    this.#abandon(new Failure('shutdown', 'the server ends'))
  }

  onDeadline(now: number): void {
    this.eventMs = now
    if (this.#state === 'closing') {
      this.#socket.destroy()
      return
    }
    if (this.#unblockDueMs <= now) {
      this.#abandon(new Failure('client_stalled', 'the client stopped reading'))
      return
    }
    if (this.#goodbyeDueMs <= now) this.#announceLast()
    if (this.#headDueMs <= now) {
      this.fail(ErrorCode.enhanceYourCalm, new Failure('request_timeout', 'the head did not arrive in time'))
      return
    }
    if (this.streams.size === 0 && this.#idleDueMs <= now) this.#leave()
    else if (this.#stallDueMs <= now) this.#resetStalled(now)
    this.#rearm()
  }

  get #isEnding(): boolean {
    return this.#state === 'closing' || this.#state === 'closed'
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('drain', () => this.outbox.drained())
    socket.on('end', () => this.#clientEnded())
    socket.on('close', () => this.#closed())
    // What it was is said by the close that follows.
    socket.on('error', () => undefined)
  }

  #receive(chunk: Buffer): void {
    if (this.#isEnding) return
    this.tick()
    const at = this.#prefaceBytes < preface.length ? this.#readPreface(chunk) : 0
    if (at >= 0 && at < chunk.length) this.#inbox.reader.push(chunk, at)
    if (!this.#isEnding) this.#watchHead()
  }

  /** Returns where the frames begin, -1 where this is not HTTP/2. */
  #readPreface(chunk: Buffer): number {
    const length = Math.min(chunk.length, preface.length - this.#prefaceBytes)
    for (let at = 0; at < length; at++) {
      if (chunk[at] === preface[this.#prefaceBytes++]) continue
      this.fail(ErrorCode.protocolError, new Failure('bad_request', 'not the preface of HTTP/2'))
      return -1
    }
    return length
  }

  /** Heads have a deadline from their first byte to their last; every frame that ends outside of one starts it anew. */
  #watchHead(): void {
    const inbox = this.#inbox
    if (inbox.isGreeted && !inbox.isWithinHead) {
      this.#headDueMs = noDeadline
    } else if (inbox.isGreeted && inbox.progress !== this.#progress) {
      this.#headDueMs = this.eventMs + this.#options.timeouts().headersMs
    }
    this.#progress = inbox.progress
    this.#rearm()
  }

  #rearm(): void {
    if (this.#isEnding) return
    const quietDueMs = this.streams.size === 0 ? this.#idleDueMs : this.#stallDueMs
    this.deadlineMs = Math.min(this.#headDueMs, quietDueMs, this.#goodbyeDueMs, this.#unblockDueMs)
  }

  /** When the socket will have taken nothing for too long. */
  get #unblockDueMs(): number {
    const { blockedSinceMs } = this.outbox
    return blockedSinceMs === undefined ? noDeadline : blockedSinceMs + this.#options.timeouts().bodyIdleMs
  }

  #resetStalled(now: number): void {
    const timeouts = this.#options.timeouts()
    const { bodyIdleMs } = timeouts
    const least = { bodyIdleMs, bytes: leastBytes(this.limits, timeouts) }
    this.#stallDueMs = now + bodyIdleMs
    for (const stream of this.streams.all()) {
      const dueMs = stream.stallsAtMs(bodyIdleMs)
      if (dueMs <= now) stream.judge(now, least)
      else this.#stallDueMs = Math.min(this.#stallDueMs, dueMs)
    }
  }

  #announceLast(): void {
    this.#goodbyeDueMs = noDeadline
    if (this.#state !== 'draining') return
    this.#state = 'drained'
    if (this.streams.size === 0) this.#leave()
    else this.outbox.goaway(this.streams.lastId, ErrorCode.noError, '')
  }

  /** Nothing is in flight and nothing more will come: a goodbye without a reproach. */
  #leave(): void {
    if (!this.#isEnding) this.#close(ErrorCode.noError, gone)
  }

  #close(code: number, failure: Failure): void {
    this.#state = 'closing'
    this.#inbox.reader.stop()
    this.outbox.goaway(this.streams.lastId, code, failure.detail)
    this.#breakStreams(failure)
    this.outbox.finish()
    this.deadlineMs = this.tick() + this.limits.closeMs
    this.#socket.resume()
    this.#socket.end()
  }

  /** Ends everything without a word: the client could not hear it. */
  #abandon(failure: Failure): void {
    this.#state = 'closed'
    this.#inbox.reader.stop()
    this.#breakStreams(failure)
    this.outbox.close()
    this.#socket.destroy()
  }

  #breakStreams(failure: Failure): void {
    for (const stream of [...this.streams.all()]) stream.break(failure)
  }

  #clientEnded(): void {
    this.#breakStreams(gone)
    if (!this.#isEnding) this.#leave()
  }

  #closed(): void {
    this.#state = 'closed'
    deadlines.forget(this)
    this.#inbox.reader.stop()
    this.#breakStreams(gone)
    this.outbox.close()
  }
}
