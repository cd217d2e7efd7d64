// One stream that we have opened to an endpoint: an attempt, the sink of its request's body, and where its answer arrives.
// Made by the client connection; decides nothing about frames.
import type { Attempt, AttemptObserver, OutgoingFields, OutgoingRequest } from '../wire/attempt.js'
import { type BodySource, unknownLength } from '../wire/body.js'
import { noDeadline } from '../wire/deadlines.js'
import type { ResponseHead } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { isBodiless } from '../wire/status.js'
import { informationalMax } from './client-limits.js'
import { ErrorCode } from './frames.js'
import { OutgoingStream } from './outgoing-stream.js'
import { unprioritized } from './priority.js'
import type { ReceivedBody } from './received-body.js'
import { requestHeadOf } from './request-fields.js'
import { ResponseBody } from './response-body.js'
import type { ClientSession, ReceivingStream } from './session.js'

const cancelled = new Failure('client_gone', 'the exchange was given up')
const answeredEarly = new Failure('upstream_reset', 'the endpoint answered before the request was complete')

/** What opens a stream to an endpoint. */
export interface ClientStreamOpening {
  readonly id: number
  readonly request: OutgoingRequest
  readonly observer: AttemptObserver
}

/** One attempt on an HTTP/2 connection. */
export class ClientStream extends OutgoingStream implements Attempt, ReceivingStream {
  /** The body of the answer, or the endpoint's side of a tunnel. */
  body: ReceivedBody | undefined
  bytesReceived = 0
  isRemoteEnded = false
  /** The final head has come. */
  isAnswered = false
  /** The endpoint has switched protocols: nothing but DATA may come. */
  isTunnel = false
  readonly #session: ClientSession
  readonly #request: OutgoingRequest
  readonly #observer: AttemptObserver
  #informationalCount = 0
  /** When the request had left whole. */
  #sentMs: number | undefined
  #isStarting = true

  constructor(session: ClientSession, opening: ClientStreamOpening) {
    super(session, {
      id: opening.id,
      priority: unprioritized,
      sendWindowBytes: session.outbox.initialWindowBytes,
    })
    this.#session = session
    this.#request = opening.request
    this.#observer = opening.observer
  }

  get method(): string {
    return this.#request.method
  }

  /** A head has come, be it only an informational one: the request may be under way at the endpoint. */
  get hasAnswerBegun(): boolean {
    return this.isAnswered || this.#informationalCount > 0
  }

  /** No byte of it has reached the endpoint. */
  get isUnsent(): boolean {
    return this.#sentMs === undefined && this.#request.body === undefined
  }

  /** Writes the head and lets the body flow behind it. */
  start(fields: OutgoingFields): void {
    const { body, upgrade } = this.#request
    const { outbox, eventMs } = this.#session
    const framing = body === undefined && upgrade === undefined ? 'none' : 'follows'
    outbox.requestHead(this.id, requestHeadOf(this.#request, fields), framing)
    if (body !== undefined) this.sendFrom(body)
    else if (upgrade === undefined) outbox.ended(this)
    else this.#sentMs = eventMs
    this.#isStarting = false
  }

  /** An informational head has come. */
  inform(head: ResponseHead): void {
    if (++this.#informationalCount <= informationalMax) return this.#observer.onInformational(head)
    this.#fault('too many informational answers')
  }

  /** The final head has come; `lengthBytes` is its content-length. */
  answer(head: ResponseHead, framing: 'none' | 'follows', lengthBytes: number): void {
    this.isAnswered = true
    this.movedMs = this.#session.eventMs
    this.#session.answered(head.status)
    if (this.#request.upgrade !== undefined && head.status < 300) this.#switchProtocols(head)
    else this.#respond(head, framing, lengthBytes)
    if (framing === 'none') this.endRemote(undefined)
  }

  endRemote(trailers: HeaderBlock | undefined): void {
    if (this.isClosed) return
    if (!this.isAnswered) return this.#fault('a body without a head')
    this.isRemoteEnded = true
    this.body?.finish(trailers)
    if (this.isClosed) return
    if (this.#sentMs !== undefined && this.isLocalEnded) this.#close()
    else if (this.isTunnel) this.#endTunnel()
    // RFC 9113 §8.1: nobody waits for the rest of the request any more.
    else if (!this.isLocalEnded) this.resetWith(ErrorCode.noError, answeredEarly)
  }

  override abort(failure: Failure): void {
    this.dropSource()
    // Half a request must never look like a whole one.
    this.resetWith(ErrorCode.cancel, failure)
  }

  override misframed(reason: string): void {
    this.resetWith(ErrorCode.cancel, new Failure('bad_body', reason))
  }

  override sent(): void {
    if (this.isClosed) return
    this.#sentMs = this.#session.eventMs
    if (this.isRemoteEnded) this.#close()
  }

  cancel(): void {
    if (this.isClosed) return
    this.isResetHere = true
    this.sendReset(ErrorCode.cancel)
    this.#close()
    this.dropSource()?.abort(cancelled)
    this.body?.abort(cancelled)
  }

  protected override sendReset(code: number): void {
    this.#session.resets.send(this.id, code)
  }

  /** Whoever waits for its answer hears why there is none. */
  override break(failure: Failure): void {
    if (this.isClosed) return
    this.#close()
    this.dropSource()?.abort(failure)
    // An answer that has no body, or all of it, is complete whatever comes after it.
    if (this.isRemoteEnded || (this.isAnswered && this.body === undefined)) return
    // What was never looked at says nothing against the endpoint: it may be on its way out, or full.
    if (failure.side === 'upstream' && failure.retry !== 'always') this.#session.failed(failure)
    if (this.isAnswered) this.body?.fail(failure)
    else this.#tell(failure)
  }

  /** Nobody wants the rest of the answer's body. */
  bodyUnwanted(failure: Failure): void {
    if (!this.isRemoteEnded) this.resetWith(ErrorCode.cancel, failure)
  }

  /** Until when it may stand still; for ever while it is the client's side that waits. */
  get dueMs(): number {
    const { responseMs, bodyIdleMs, tunnelIdleMs } = this.#session.timeouts
    const { body } = this
    if (this.isTunnel) return this.movedMs + tunnelIdleMs
    if (this.isAnswered && body?.isFull === true) return noDeadline
    if (this.isAnswered) return Math.max(this.movedMs, body?.resumedMs ?? 0) + bodyIdleMs
    if (this.#sentMs !== undefined) return this.#sentMs + responseMs
    return this.queuedBytes > 0 ? this.movedMs + bodyIdleMs : noDeadline
  }

  /** It has stood still for too long. */
  expire(): void {
    this.resetWith(ErrorCode.cancel, new Failure('upstream_timeout', this.#delay))
  }

  get #delay(): string {
    const { responseMs, bodyIdleMs, tunnelIdleMs } = this.#session.timeouts
    if (this.isTunnel) return `no byte through the tunnel for ${tunnelIdleMs} ms`
    if (this.isAnswered) return `no byte of the body for ${bodyIdleMs} ms`
    if (this.#sentMs !== undefined) return `no answer within ${responseMs} ms`
    return `took no byte of the request for ${bodyIdleMs} ms`
  }

  #respond(head: ResponseHead, framing: 'none' | 'follows', lengthBytes: number): void {
    const hasBody = framing === 'follows' && this.method !== 'HEAD' && !isBodiless(head.status)
    if (hasBody) this.body = new ResponseBody(this.#session, this, lengthBytes)
    this.#observer.onResponse(head, this.body)
  }

  #switchProtocols(head: ResponseHead): void {
    const source = new ResponseBody(this.#session, this, unknownLength)
    this.isTunnel = true
    this.body = source
    this.#observer.onUpgrade(head, { source, carry: (said) => this.#carry(said) })
  }

  /** What the client sends flows on, behind what was said so far. */
  #carry(source: BodySource): void {
    if (this.isClosed || this.isSourceEnded) source.abort(answeredEarly)
    else this.sendFrom(source)
  }

  /** The endpoint has said all: what the client has said so far still goes out, and then the end. */
  #endTunnel(): void {
    this.dropSource()?.abort(answeredEarly)
    this.end(undefined)
  }

  /** No observer hears of its attempt before it has it. */
  #tell(failure: Failure): void {
    if (this.#isStarting) queueMicrotask(() => this.#observer.onFailure(failure))
    else this.#observer.onFailure(failure)
  }

  #fault(reason: string): void {
    this.#session.fault(this.id, ErrorCode.protocolError, new Failure('upstream_protocol', reason))
  }

  #close(): void {
    this.closeQueue()
    this.body?.release()
    this.#session.closed(this)
  }
}
