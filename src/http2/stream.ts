// One HTTP/2 stream: the client's side of one exchange and the sink of its response. Bytes wait here until the outbox
// takes them; it decides nothing about frames.
import type { BodySink, BodySource } from '../wire/body.js'
import { unknownLength } from '../wire/body.js'
import type { Connection } from '../wire/connection.js'
import type { Downstream, ExchangeObserver, Request, ResponseHead } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { FrameWriter } from './frame-writer.js'
import { ErrorCode } from './frames.js'
import type { RequestBody } from './request-body.js'
import type { Session } from './session.js'

/** What opens a stream. */
export interface StreamOpening {
  readonly id: number
  readonly request: Request
  readonly body: RequestBody | undefined
  /** How often its turn comes among its neighbours, in frames (RFC 9218, coarsely). */
  readonly framesPerTurn: number
  readonly sendWindowBytes: number
}

const unobserved: ExchangeObserver = { onSent: () => undefined, onBroken: () => undefined }
const noChunks: Buffer[] = []

/** One stream from its HEADERS to its end. */
export class Http2Stream implements Downstream, BodySink {
  readonly id: number
  readonly request: Request
  readonly body: RequestBody | undefined
  readonly framesPerTurn: number
  /** Frames that are left of this turn; kept by the outbox. */
  framesLeft: number
  observer: ExchangeObserver = unobserved
  bytesReceived = 0
  bytesSent = 0
  /** What the client lets us send on this stream; below zero after it shrank its initial window. */
  sendWindowBytes: number
  /** Bytes of the response that wait. */
  queuedBytes = 0
  /** When a byte of either body moved last. */
  movedMs: number
  /** The client has sent its END_STREAM. */
  isRemoteEnded: boolean
  /** Nothing happens here any more. */
  isClosed = false
  /** Closed by a RST_STREAM of ours. */
  isResetHere = false
  /** Nothing more will be queued; what waits is the end. */
  isSourceEnded = false
  /** Our END_STREAM was written. */
  isLocalEnded = false
  trailers: HeaderBlock | undefined
  /** The outbox's queue of streams whose turn comes. */
  nextReady: Http2Stream | undefined
  isReady = false
  readonly #session: Session
  #isHeadSent = false
  /** The client waits for our 100: that its body does not come is not its fault. */
  #awaitsContinue: boolean
  #isSourcePaused = false
  #source: BodySource | undefined
  #expectedBytes = unknownLength
  #chunks: Buffer[] = noChunks
  #chunkAt = 0
  #offset = 0

  constructor(session: Session, opening: StreamOpening) {
    this.#session = session
    this.id = opening.id
    this.request = opening.request
    this.body = opening.body
    this.framesPerTurn = opening.framesPerTurn
    this.framesLeft = opening.framesPerTurn
    this.sendWindowBytes = opening.sendWindowBytes
    this.isRemoteEnded = opening.body === undefined
    this.movedMs = session.eventMs
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
    const isBodyless = body === undefined || this.request.method === 'HEAD' || isBodylessStatus(head.status)
    this.#session.outbox.head(this.id, head, isBodyless ? 'none' : 'follows')
    if (isBodyless) {
      body?.abort(new Failure('internal_error', 'a body where the response has none'))
      this.#session.outbox.ended(this)
      return
    }
    this.#source = body
    this.#expectedBytes = body.lengthBytes
    body.flow(this)
  }

  switchProtocols(_head: ResponseHead, source: BodySource): BodySource {
    const failure = new Failure('internal_error', 'no upgrade was asked for')
    source.abort(failure)
    this.reset(failure)
    return source
  }

  reset(failure: Failure): void {
    this.resetWith(isOurs(failure) ? ErrorCode.internalError : ErrorCode.cancel, failure)
  }

  /** Ends it with RST_STREAM; both bodies are broken off. */
  resetWith(code: number, failure: Failure): void {
    if (this.isClosed) return
    this.isResetHere = true
    this.#session.outbox.rstStream(this.id, code)
    this.break(failure)
  }

  /** Ends it without a word to the client, who has ended it, or is gone. */
  break(failure: Failure): void {
    if (this.isClosed) return
    this.#close()
    // The observer hears it first: a broken upload would otherwise be answered to nobody, and logged with that status.
    this.observer.onBroken(failure)
    this.body?.fail(failure)
    const source = this.#source
    this.#source = undefined
    source?.abort(failure)
  }

  write(chunk: Buffer): boolean {
    if (this.isClosed || this.isSourceEnded) return true
    if (this.queuedBytes === 0) this.movedMs = this.#session.tick()
    if (this.#chunks === noChunks) this.#chunks = [chunk]
    else this.#chunks.push(chunk)
    this.queuedBytes += chunk.length
    this.#session.outbox.queued(this, chunk.length)
    if (this.#expectedBytes !== unknownLength && this.bytesSent + this.queuedBytes > this.#expectedBytes) {
      this.reset(new Failure('upstream_protocol', 'the body is longer than announced'))
      return true
    }
    if (this.queuedBytes < this.#session.outbox.streamBoundBytes) return true
    if (!this.#isSourcePaused) this.#session.outbox.paused(this)
    this.#isSourcePaused = true
    return false
  }

  end(trailers: HeaderBlock | undefined): void {
    if (this.isClosed || this.isSourceEnded) return
    this.#source = undefined
    if (this.#expectedBytes !== unknownLength && this.bytesSent + this.queuedBytes !== this.#expectedBytes) {
      this.reset(new Failure('upstream_protocol', 'the body is shorter than announced'))
      return
    }
    this.isSourceEnded = true
    // Lent here and written behind the last byte of the body, because HPACK wants its sections in the order sent.
    if (trailers !== undefined && trailers.count + trailers.added.length > 0) this.trailers = trailers.clone()
    this.#session.outbox.queued(this, 0)
  }

  abort(failure: Failure): void {
    this.#source = undefined
    this.reset(failure)
  }

  /** The source may go on; called by the outbox when there is room again. */
  resumeSource(): void {
    this.#isSourcePaused = false
    this.#source?.resume()
  }

  /** Moves `bytes` of what waits into `out`. */
  fill(out: FrameWriter, bytes: number): void {
    let left = bytes
    while (left > 0) {
      const chunk = this.#chunks[this.#chunkAt] as Buffer
      const taken = Math.min(left, chunk.length - this.#offset)
      out.copy(chunk, this.#offset, this.#offset + taken)
      left -= taken
      this.#offset += taken
      if (this.#offset === chunk.length) this.#nextChunk()
    }
    this.queuedBytes -= bytes
    this.bytesSent += bytes
    this.sendWindowBytes -= bytes
    this.movedMs = this.#session.eventMs
  }

  /** Its END_STREAM was handed to the socket. */
  sent(): void {
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
    const isReceiving = !this.isRemoteEnded && this.body?.isUnwanted === false && !this.#awaitsContinue
    return isSending || isReceiving ? this.movedMs + bodyIdleMs : Number.POSITIVE_INFINITY
  }

  /** Nothing has moved for too long. */
  stall(): void {
    if (this.queuedBytes > 0) this.reset(new Failure('client_stalled', 'the client opened no window'))
    else if (this.body?.isFull) this.reset(new Failure('upstream_timeout', 'the endpoint took nothing of the body'))
    else this.reset(new Failure('request_timeout', 'the body did not arrive in time'))
  }

  #continued(): void {
    this.#awaitsContinue = false
    this.movedMs = this.#session.tick()
  }

  #nextChunk(): void {
    this.#offset = 0
    this.#chunkAt++
    if (this.#chunkAt < this.#chunks.length) return
    this.#chunks.length = 0
    this.#chunkAt = 0
  }

  #close(): void {
    this.isClosed = true
    this.#session.outbox.dropped(this.queuedBytes)
    this.queuedBytes = 0
    this.#chunks = noChunks
    this.body?.release()
    this.#session.closed(this)
  }
}

/** RFC 9110 §6.4.1. */
function isBodylessStatus(status: number): boolean {
  return status === 204 || status === 304
}

/** Whether the client is to know that it was the server's or the upstream's failure. */
function isOurs(failure: Failure): boolean {
  return failure.side !== 'downstream'
}
