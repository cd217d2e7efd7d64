// The server side of one HTTP/1 connection (RFC 9112): reads heads and bodies, hands each request on, answers in order.
// One request at a time: what is pipelined behind it waits in the socket, so that nobody makes us hold more than one read.
import type { Socket } from 'node:net'
import { unknownLength } from '../wire/body.js'
import type { Connection } from '../wire/connection.js'
import { deadlines, noDeadline, nowMs, type Timed } from '../wire/deadlines.js'
import type { RequestService, ServedConnection, ServingOptions, WireLimits, WireTimeouts } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import { Field } from '../wire/field-names.js'
import { Pace } from '../wire/pace.js'
import { SocketWriter } from '../wire/socket-writer.js'
import { type BodyFeeder, type BodyFraming, BodyReader } from './body-reader.js'
import { EmptyLine } from './empty-line.js'
import { chunked, framingOf, unframed } from './framing.js'
import { HeadIntake } from './head-intake.js'
import { closeByReset, closeLingering } from './lingering-close.js'
import { countWaiting } from './pipeline.js'
import { refusalBytes, refusalOf } from './refusal.js'
import { RequestHead } from './request-head.js'
import { objectionTo, wantsClose } from './request-rules.js'
import { type ExchangeOwner, ServerExchange } from './server-exchange.js'
import { upgradeOf } from './upgrade.js'

const head = new RequestHead()
const slowReader = new Failure('client_stalled', 'the client takes the answer too slowly')
const slowBody = new Failure('request_timeout', 'the body comes too slowly')
const slowHead = new Failure('request_timeout', 'the head of the request did not arrive in time')

/** One HTTP/1 connection of a client. */
export class Http1ServerConnection implements ServedConnection, ExchangeOwner, BodyFeeder, Timed {
  requests = 0
  deadlineMs = noDeadline
  readonly connection: Connection
  readonly writer: SocketWriter
  readonly #socket: Socket
  readonly #intake = new HeadIntake(head)
  readonly #service: RequestService
  readonly #limits: () => WireLimits
  readonly #timeouts: () => WireTimeouts
  readonly #pace: Pace
  /** What waited for the client when the socket was full. */
  #blockedBytes = 0
  #exchange: ServerExchange | undefined
  readonly #emptyLine = new EmptyLine()
  #stash: Buffer | undefined
  #isConsuming = false
  #isDraining = false
  #isLastRequest = false
  #isClosing = false

  constructor(options: ServingOptions) {
    this.connection = options.connection
    this.#socket = options.socket
    this.#service = options.service
    this.#limits = options.limits
    this.#timeouts = options.timeouts
    this.#pace = new Pace(options)
    this.writer = new SocketWriter(options.socket)
    options.socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    options.socket.on('drain', () => this.#onDrain())
    options.socket.on('end', () => this.#onGone())
    options.socket.on('close', () => this.#onClose())
    // What went wrong is told by 'close', which always follows.
    options.socket.on('error', () => undefined)
    this.#waitFor(this.#timeouts().idleMs)
    deadlines.watch(this)
  }

  drain(): void {
    this.#isDraining = true
    if (this.#exchange === undefined && !this.#intake.isPartial) this.#close()
  }

  destroy(): void {
    this.#exchange?.reset(new Failure('shutdown', 'the server ends'))
    this.#socket.destroy()
  }

  onDeadline(): void {
    const exchange = this.#exchange
    if (exchange === undefined && !this.#intake.isPartial) return this.#close()
    if (exchange === undefined) return void this.#refuse(slowHead, 0)
    if (exchange.isEnded) return this.#close()
    if (exchange.isAnswered) return exchange.reset(new Failure('client_stalled', 'the client stopped reading'))
    this.#failBody(exchange, new Failure('request_timeout', 'no byte of the body came'))
  }

  decideClose(close: 'demanded' | 'if_needed'): boolean {
    const exchange = this.#exchange
    const isOld = exchange?.protocol === 'http/1.0'
    // Bytes that were sent on the strength of an upgrade that is refused now are of another protocol, not a request.
    const isOptimistic = exchange?.upgrade !== undefined && this.#stash !== undefined
    if (close === 'demanded' || this.#isDraining || isOld || isOptimistic || exchange?.isBodyTooLong === true)
      this.#isLastRequest = true
    return this.#isLastRequest
  }

  openTunnel(): BodyReader {
    this.#isLastRequest = true
    return this.#bodyOf('until_close', unknownLength)
  }

  onResponseEnd(): void {
    this.deadlineMs = noDeadline
    const body = this.#exchange?.body
    if (this.#isLastRequest) return this.#close()
    if (body === undefined || body.isComplete) return this.#nextRequest()
    // The next request stands behind the rest of a body that nobody wants.
    this.#waitFor(this.#timeouts().bodyIdleMs)
    this.#discardBody()
  }

  onResponseBlocked(): void {
    this.#blockedBytes = this.#socket.writableLength
    this.#waitFor(this.#timeouts().bodyIdleMs)
  }

  breakConnection(how: 'close' | 'reset'): void {
    this.#isClosing = true
    if (how === 'reset') closeByReset(this.#socket)
    else this.#socket.destroy()
  }

  onWanted(): void {
    if (!this.#isConsuming && this.#exchange?.body?.isComplete === false) this.#consumeStash()
  }

  pauseReading(): void {
    this.#socket.pause()
    if (this.#exchange?.isAnswered === false) this.deadlineMs = noDeadline
  }

  resumeReading(): void {
    this.#waitForBody()
    if (this.#stash === undefined) this.#socket.resume()
    else this.#consumeStash()
  }

  onUnwanted(): void {
    if (this.#exchange?.isAnswered === true && this.#exchange.isBodyTooLong) this.#isLastRequest = true
    this.#discardBody()
  }

  #onData(chunk: Buffer): void {
    if (this.#isClosing) return
    const stash = this.#stash
    this.#stash = undefined
    this.#consume(stash === undefined ? chunk : Buffer.concat([stash, chunk]))
  }

  #consumeStash(): void {
    const stash = this.#stash
    this.#stash = undefined
    if (stash !== undefined) this.#consume(stash)
    const isBlocked = this.#exchange?.body?.isBlocked === true
    if (this.#stash === undefined && !isBlocked && !this.#isClosing) this.#socket.resume()
  }

  /** Takes what it can; the rest is stashed, and the socket paused, until the exchange under way allows more. */
  #consume(bytes: Buffer): void {
    this.#isConsuming = true
    let at = 0
    while (at < bytes.length && !this.#isClosing) {
      const exchange = this.#exchange
      if (exchange === undefined && this.#isUnread()) break
      if (exchange === undefined) at = this.#takeHead(bytes, at)
      else if (exchange.body !== undefined && !exchange.body.isComplete && exchange.body.isWanted)
        at = this.#takeBody(exchange, bytes, at)
      else break
    }
    this.#isConsuming = false
    if (at === bytes.length || this.#isClosing) return
    this.#stash = at === 0 ? bytes : bytes.subarray(at)
    this.#socket.pause()
  }

  /** Whether answers wait for a client that does not read: it may not ask for more of them. */
  #isUnread(): boolean {
    if (!this.#socket.writableNeedDrain) return false
    this.#waitFor(this.#timeouts().bodyIdleMs)
    return true
  }

  #takeHead(bytes: Buffer, from: number): number {
    const start = this.#intake.isPartial ? from : this.#emptyLine.skip(bytes, from)
    if (start === -1) return this.#refuse(head.refuseStart('a CR before the request line'), bytes.length)
    if (start === bytes.length) return start
    const wasPartial = this.#intake.isPartial
    const end = this.#intake.take(bytes, start, this.#limits())
    if (end > 0) return this.#startRequest(bytes, end)
    if (end < 0) return this.#refuse(head.refusal ?? new Failure('bad_request', 'malformed'), bytes.length)
    if (!wasPartial) this.#waitFor(this.#timeouts().headersMs)
    return bytes.length
  }

  #startRequest(bytes: Buffer, end: number): number {
    const framing = framingOf(head.headers)
    const objection = objectionTo(head, framing)
    if (objection !== undefined) return this.#refuse(objection, bytes.length)
    this.requests++
    this.#emptyLine.reset()
    this.#pace.restart()
    this.#isLastRequest = wantsClose(head)
    if (end < bytes.length && framing === unframed) this.#boundPipeline(bytes, end)
    const kind = framing === chunked ? 'chunked' : 'length'
    const body = framing === unframed || framing === 0 ? undefined : this.#bodyOf(kind, framing)
    const expectsContinue = body !== undefined && head.minorVersion === 1 && head.headers.find(Field.expect) !== -1
    const upgrade = body === undefined && head.minorVersion === 1 ? upgradeOf(head.headers) : undefined
    this.#exchange = new ServerExchange(this, head, { body, expectsContinue, upgrade })
    this.deadlineMs = noDeadline
    if (body !== undefined) this.#waitForBody()
    this.#service.handle(this.#exchange)
    return end
  }

  #bodyOf(framing: BodyFraming, lengthBytes: number): BodyReader {
    return new BodyReader(this, { framing, lengthBytes, limits: this.#limits() })
  }

  /** More requests than the limit are not answered: this one is the last of its connection. */
  #boundPipeline(bytes: Buffer, from: number): void {
    const { pipelined } = this.#limits()
    if (countWaiting(bytes, from, pipelined) <= pipelined) return
    this.#isLastRequest = true
    this.#report(new Failure('too_many_pipelined', `more than ${pipelined} requests wait`), null)
  }

  #takeBody(exchange: ServerExchange, bytes: Buffer, from: number): number {
    const body = exchange.body
    if (body === undefined) return from
    const end = body.feed(bytes, from)
    if (end === -1) {
      this.#failBody(exchange, new Failure('bad_body', 'the chunked framing of the body is broken'))
      return bytes.length
    }
    if (!body.isComplete) this.#waitForBody(end - from)
    else if (exchange.isEnded && this.#exchange === exchange) this.#nextRequest()
    else if (!exchange.isAnswered) this.deadlineMs = noDeadline
    return end
  }

  /** The rest of the body will not come, or not as promised: the answer says so if it still can, then the connection ends. */
  #failBody(exchange: ServerExchange, failure: Failure): void {
    this.#isLastRequest = true
    exchange.body?.fail(failure)
    if (exchange.isEnded) this.#close()
    else if (exchange.isAnswered) exchange.reset(failure)
  }

  #discardBody(): void {
    const body = this.#exchange?.body
    if (body === undefined || this.#isClosing) return
    if (!body.isWanted) body.discard()
    else if (!this.#isConsuming) this.#consumeStash()
  }

  #nextRequest(): void {
    this.#exchange = undefined
    if (this.#isDraining) return this.#close()
    this.#waitFor(this.#timeouts().idleMs)
    if (!this.#isConsuming && this.#stash !== undefined) this.#consumeStash()
  }

  #refuse(failure: Failure, consumed: number): number {
    this.writer.finish(refusalBytes(failure))
    this.#close()
    this.#report(failure, failure.status)
    return consumed
  }

  #report(failure: Failure, status: number | null): void {
    const known = this.#intake.isPartial ? undefined : head
    this.#service.refused(refusalOf({ connection: this.connection, head: known, failure, status }))
  }

  #onDrain(): void {
    if (this.#exchange === undefined) return this.#consumeStash()
    if (this.#pace.isTooSlow(this.deadlineMs, this.#blockedBytes)) return this.#exchange.reset(slowReader)
    this.deadlineMs = noDeadline
    this.#exchange.onDrain()
  }

  #onGone(): void {
    // Behind a switch of protocols the client's end is one of its messages, not its farewell.
    if (this.#exchange?.body?.onConnectionEnd() === true) return
    if (this.#exchange !== undefined && !this.#isClosing) this.#socket.destroy()
    else this.#close()
  }

  #onClose(): void {
    this.#isClosing = true
    this.deadlineMs = noDeadline
    deadlines.forget(this)
    const exchange = this.#exchange
    this.#exchange = undefined
    const failure = new Failure('client_gone', 'the client closed the connection')
    // The exchange hears it first: a broken upload would otherwise be answered to nobody, and logged with that status.
    exchange?.reset(failure)
    exchange?.body?.fail(failure)
  }

  #close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.deadlineMs = noDeadline
    closeLingering(this.#socket, this.#timeouts().bodyIdleMs)
  }

  #waitFor(milliseconds: number): void {
    this.deadlineMs = nowMs() + milliseconds
  }

  /** Waits for more of a body, of which `bytes` have come. */
  #waitForBody(bytes = 0): void {
    const exchange = this.#exchange
    if (exchange === undefined || exchange.isAnswered) return
    if (this.#pace.isTooSlow(this.deadlineMs, bytes)) this.#failBody(exchange, slowBody)
    else if (!exchange.body?.isBlocked) this.#waitFor(this.#timeouts().bodyIdleMs)
  }
}
