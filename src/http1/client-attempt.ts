// One request on an upstream connection: frames its body on the way out and remembers how far the exchange has come.
// Made by the client connection; sink of the request's body.

import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import { type BodySink, type BodySource, unknownLength } from '../wire/body.js'
import { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { SocketWriter } from '../wire/socket-writer.js'
import { chunkOf, lastChunkOf } from './chunk-writer.js'

const cancelled = new Failure('client_gone', 'the exchange was given up')

/** The connection that an attempt speaks through. */
export interface AttemptOwner {
  readonly writer: SocketWriter
  /** The request has left whole. */
  onRequestSent(): void
  /** A part of the request has moved while the answer is under way. */
  onRequestMoved(): void
  /** The endpoint does not take what is written. */
  onRequestBlocked(): void
  /** Behind a switch of protocols: the client has said all that it will. */
  onTunnelSaid(): void
  /** The client's side broke, or gave up, before the exchange was complete. */
  onAttemptCancelled(failure: Failure | undefined): void
}

/** One attempt on an HTTP/1 connection. */
export class ClientAttempt implements Attempt, BodySink {
  readonly request: OutgoingRequest
  readonly observer: AttemptObserver
  /** The request has left whole. */
  isSent = false
  /** The final head has come. */
  isAnswered = false
  /** Informational heads so far. */
  informationalCount = 0
  readonly #owner: AttemptOwner
  readonly #isChunked: boolean
  /** What flows to the endpoint: the request's body, or what the client sends through a tunnel. */
  #source: BodySource | undefined
  #isTunnel = false
  #isEnded = false
  #isBlocked = false

  constructor(owner: AttemptOwner, request: OutgoingRequest, observer: AttemptObserver) {
    this.#owner = owner
    this.request = request
    this.observer = observer
    this.#source = request.body
    this.#isChunked = request.body?.lengthBytes === unknownLength
  }

  /** Writes the head and lets the body flow behind it. */
  start(): void {
    const { head, body } = this.request
    if (body === undefined) {
      this.#owner.writer.finish(head)
      this.#markSent()
      return
    }
    this.#owner.writer.push(head)
    body.flow(this)
  }

  /** The endpoint has switched protocols: what the client sends flows on, unframed. */
  carry(source: BodySource): void {
    this.#source = source
    this.#isTunnel = true
    this.#isEnded = false
    source.flow(this)
  }

  write(chunk: Buffer): boolean {
    if (this.#isEnded) return true
    if (this.isAnswered) this.#owner.onRequestMoved()
    const isRoomy = this.#owner.writer.pushBody(this.#isChunked ? chunkOf(chunk) : chunk)
    if (!isRoomy && !this.#isBlocked) {
      this.#isBlocked = true
      this.#owner.onRequestBlocked()
    }
    return isRoomy
  }

  end(trailers: HeaderBlock | undefined): void {
    if (this.#isEnded) return
    if (this.#isChunked) this.#owner.writer.finish(lastChunkOf(trailers))
    else this.#owner.writer.flush()
    this.#markSent()
    if (this.#isTunnel) this.#owner.onTunnelSaid()
  }

  // Half a request must never look like a whole one to the endpoint: its connection ends.
  abort(failure: Failure): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#owner.onAttemptCancelled(failure)
  }

  cancel(): void {
    if (!this.#isEnded || !this.isSent) this.#source?.abort(cancelled)
    this.#isEnded = true
    this.#owner.onAttemptCancelled(undefined)
  }

  /** The endpoint takes bytes again. */
  onDrain(): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    this.#source?.resume()
  }

  /** The exchange is over: what is left of the request's body is wanted no more. */
  close(failure: Failure): void {
    if (this.#isEnded) return
    this.#isEnded = true
    if (!this.isSent || this.#isTunnel) this.#source?.abort(failure)
  }

  #markSent(): void {
    this.#isEnded = true
    this.isSent = true
    this.#owner.onRequestSent()
  }
}
