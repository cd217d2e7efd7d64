// One HTTP/2 stream that a client has opened: its side of one exchange and the sink of its response. Made by the inbox;
// decides nothing about frames.
import assert from 'node:assert/strict'
import type { BodySource } from '../wire/body.js'
import type { Connection } from '../wire/connection.js'
import type { Downstream, ExchangeObserver, Request, ResponseHead } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { isBodiless } from '../wire/status.js'
import { ErrorCode } from './frames.js'
import { OutgoingStream } from './outgoing-stream.js'
import type { Priority } from './priority.js'
import type { ReceivedBody } from './received-body.js'
import type { Session } from './session.js'

/** What opens a stream. */
export interface StreamOpening {
  readonly id: number
  readonly request: Request
  readonly body: ReceivedBody | undefined
  readonly priority: Priority
  readonly sendWindowBytes: number
}

const unobserved: ExchangeObserver = { onSent: () => undefined, onBroken: () => undefined }

/** One stream from its HEADERS to its end. */
export class Http2Stream extends OutgoingStream implements Downstream {
  readonly request: Request
  /** What the client sends: the body of the request, or its side of a tunnel. */
  readonly body: ReceivedBody | undefined
  observer: ExchangeObserver = unobserved
  bytesReceived = 0
  /** The client has sent its END_STREAM. */
  isRemoteEnded: boolean
  readonly #session: Session
  #isHeadSent = false
  /** The client waits for our 100: that its body does not come is not its fault. */
  #awaitsContinue: boolean
  // When the pace was looked at last, and what had moved by then, here and on the whole connection.
  #pacedMs: number
  #pacedBytes = 0
  #pacedConnectionBytes = 0

  constructor(session: Session, opening: StreamOpening) {
    super(session, opening)
    this.#session = session
    this.request = opening.request
    this.body = opening.body
    this.isRemoteEnded = opening.body === undefined
    this.#pacedMs = session.eventMs
    this.#awaitsContinue = opening.request.expectsContinue
  }

  get connection(): Connection {
    return this.#session.connection
  }

  inform(head: ResponseHead): void {
    // RFC 9113 §8.6: 101 does not exist here.
    if (this.#isHeadSent || this.isClosed || head.status === 101) return
    if (head.status === 100) this.#continued()
    this.#session.outbox.head(this.id, head, 'follows')
  }

  respond(head: ResponseHead, body: BodySource | undefined): void {
    if (this.#isHeadSent || this.isClosed) {
      body?.abort(new Failure('client_gone', 'the stream has ended'))
      return
    }
    this.#isHeadSent = true
    if (head.endsConnection === true) this.#session.drain()
    const isBodyless = body === undefined || this.request.method === 'HEAD' || isBodiless(head.status)
    this.#session.outbox.head(this.id, head, isBodyless ? 'none' : 'follows')
    if (isBodyless) {
      body?.abort(new Failure('internal_error', 'a body where the response has none'))
      this.#session.outbox.ended(this)
      return
    }
    this.sendFrom(body)
  }

  switchProtocols(head: ResponseHead, source: BodySource): BodySource {
    const { body } = this
    assert(body !== undefined && this.request.upgrade !== undefined, 'only an extended CONNECT switches protocols')
    if (this.#isHeadSent || this.isClosed) {
      source.abort(new Failure('client_gone', 'the stream has ended'))
      return body
    }
    this.#isHeadSent = true
    // RFC 9113 §8.5: no length, the stream's end is the tunnel's.
    head.headers.dropAll(Field.contentLength)
    // RFC 8441 §5: 101 does not exist here.
    this.#session.outbox.head(this.id, { status: 200, reason: '', headers: head.headers }, 'follows')
    this.sendFrom(source)
    return body
  }

  reset(failure: Failure): void {
    this.resetWith(resetCodeOf(failure), failure)
  }

  override break(failure: Failure): void {
    if (this.isClosed) return
    this.#close()
    // The observer hears it first: a broken upload would otherwise be answered to nobody, and logged with that status.
    this.observer.onBroken(failure)
    this.body?.fail(failure)
    this.dropSource()?.abort(failure)
  }

  endRemote(trailers: HeaderBlock | undefined): void {
    this.isRemoteEnded = true
    this.body?.finish(trailers)
  }

  override abort(failure: Failure): void {
    this.dropSource()
    this.reset(failure)
  }

  override misframed(reason: string): void {
    this.reset(new Failure('upstream_protocol', reason))
  }

  /** Its END_STREAM was handed to the socket. */
  override sent(): void {
    if (this.isClosed) return
    this.isResetHere = !this.isRemoteEnded
    // RFC 9113 §8.1: a complete response before the request's end; the client need not send the rest.
    if (this.isResetHere) this.#session.outbox.rstStream(this.id, ErrorCode.noError)
    this.#close()
    // Before the observer hears: an upstream that got half a body must not be used again.
    if (this.isResetHere) this.body?.fail(new Failure('client_gone', 'the response ended before the request'))
    this.observer.onSent()
  }

  /** When it will have stood still for too long; never while it waits for neither body. */
  stallsAtMs(bodyIdleMs: number): number {
    const isSending = this.queuedBytes > 0
    const isReceiving = !this.isRemoteEnded && this.request.body !== undefined && this.#isBodyAwaited
    return isSending || isReceiving ? Math.min(this.movedMs, this.#pacedMs) + bodyIdleMs : Number.POSITIVE_INFINITY
  }

  /** It may have stood still, or moved too little, for too long: ends it then, and measures anew where it has not. */
  judge(nowMs: number, least: { readonly bodyIdleMs: number; readonly bytes: number }): void {
    const isStanding = this.movedMs + least.bodyIdleMs <= nowMs
    const isPaced = this.#pacedMs + least.bodyIdleMs <= nowMs
    if (this.queuedBytes > 0) {
      const isSlow = isPaced && this.bytesSent - this.#pacedBytes < least.bytes
      if ((isStanding || isSlow) && this.#isHeldBack(least.bytes)) {
        return this.reset(new Failure('client_stalled', 'the client took too little of the answer'))
      }
      this.movedMs = nowMs
    } else if (isStanding && this.body?.isFull) {
      return this.reset(new Failure('upstream_timeout', 'the endpoint took nothing of the body'))
    } else if (isStanding || (isPaced && this.#isUploadSlow(least.bytes))) {
      return this.reset(new Failure('request_timeout', 'the body did not arrive in time'))
    }
    this.#measure(nowMs)
  }

  /** Whether it is its client, and not its neighbours on a slow connection, for whom it waits. */
  #isHeldBack(leastBytes: number): boolean {
    return this.sendWindowBytes <= 0 || this.#session.outbox.sentBytes - this.#pacedConnectionBytes < leastBytes
  }

  /** Once the answer has begun the two sides are in conversation, and an upload may have nothing to say. */
  #isUploadSlow(leastBytes: number): boolean {
    const { body } = this
    if (this.#isHeadSent || body === undefined || body.isFull || body.resumedMs > this.#pacedMs) return false
    return this.bytesReceived - this.#pacedBytes < leastBytes
  }

  override beginToWait(): void {
    super.beginToWait()
    this.#measure(this.movedMs)
  }

  /** The pace is judged by what moves from now on. */
  #measure(nowMs: number): void {
    this.#pacedMs = nowMs
    this.#pacedBytes = this.#isHeadSent ? this.bytesSent : this.bytesReceived
    this.#pacedConnectionBytes = this.#session.outbox.sentBytes
  }

  get #isBodyAwaited(): boolean {
    return this.body?.isUnwanted === false && !this.#awaitsContinue
  }

  #continued(): void {
    this.#awaitsContinue = false
    this.beginToWait()
  }

  #close(): void {
    this.closeQueue()
    this.body?.release()
    this.#session.closed(this)
  }
}

/** What a client is told: whose failure it was, and what an endpoint has told us that a client can use. */
function resetCodeOf({ side, resetCode }: Failure): number {
  if (resetCode === ErrorCode.cancel || resetCode === ErrorCode.enhanceYourCalm) return resetCode
  return side === 'downstream' ? ErrorCode.cancel : ErrorCode.internalError
}
