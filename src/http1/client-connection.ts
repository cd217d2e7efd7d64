// The client side of one HTTP/1 connection to an endpoint: sends one request at a time and reads its answer (RFC 9112).
// Owned by an endpoint's pool; after anything doubtful it is destroyed, never used again.
import type { Socket } from 'node:net'
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import { unknownLength } from '../wire/body.js'
import type { ClientConnection, ClientConnectionOwner, ClientTimeouts, Transport } from '../wire/client-connection.js'
import { deadlines, noDeadline, nowMs, type Timed } from '../wire/deadlines.js'
import { Failure, type FailureCode, type RetryRule, type Suspect } from '../wire/failure.js'
import { SocketWriter } from '../wire/socket-writer.js'
import { type BodyFeeder, type BodyFraming, BodyReader } from './body-reader.js'
import { type AttemptOwner, ClientAttempt } from './client-attempt.js'
import type { FieldLimits } from './field-lines.js'
import { HeadIntake } from './head-intake.js'
import { ParsedResponseHead } from './response-head.js'
import { idleHintMs, isPersistent, responseFraming } from './response-rules.js'
import { upgradeOf } from './upgrade.js'

/** Informational heads that one answer may have before it counts as an attack. */
const informationalMax = 32

const head = new ParsedResponseHead()

/** What a client connection is made of. */
export interface ClientConnectionOptions {
  readonly transport: Transport
  readonly timeouts: ClientTimeouts
  readonly limits: FieldLimits
  readonly owner: ClientConnectionOwner
}

/** One HTTP/1 connection to an endpoint. */
export class Http1ClientConnection implements ClientConnection, AttemptOwner, BodyFeeder, Timed {
  deadlineMs: number
  readonly writer: SocketWriter
  readonly #options: ClientConnectionOptions
  readonly #socket: Socket
  readonly #intake = new HeadIntake(head)
  #attempt: ClientAttempt | undefined
  #body: BodyReader | undefined
  #requests = 0
  #isDraining = false
  #isPersistent = false
  #hasAnswerBegun = false
  #isTunnel = false
  #hintMs = Number.POSITIVE_INFINITY
  #isClosed = false
  #error: Error | undefined

  constructor(options: ClientConnectionOptions) {
    this.#options = options
    this.deadlineMs = nowMs() + options.timeouts.idleMs
    options.transport.onBytes = (chunk) => this.#onData(chunk)
    this.#socket = options.transport.socket
    this.writer = new SocketWriter(this.#socket)
    this.#socket.on('drain', () => this.#onDrain())
    this.#socket.on('end', () => this.#onEnd())
    this.#socket.on('error', (error: Error) => {
      this.#error = error
    })
    this.#socket.on('close', () => this.#onClose())
    deadlines.watch(this)
  }

  get capacity(): number {
    return this.#attempt === undefined && !this.#isClosed && !this.#isDraining && this.#socket.writable ? 1 : 0
  }

  get active(): number {
    return this.#attempt === undefined ? 0 : 1
  }

  /** While a body comes from the client, it is the client's side that waits, not the endpoint's. */
  send(request: OutgoingRequest, observer: AttemptObserver): Attempt {
    const attempt = new ClientAttempt(this, request, observer)
    this.#attempt = attempt
    this.#requests++
    this.#hasAnswerBegun = false
    this.deadlineMs = noDeadline
    attempt.start()
    return attempt
  }

  drain(): void {
    this.#isDraining = true
    if (this.#attempt === undefined) this.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  onDeadline(): void {
    if (this.#attempt === undefined) return this.destroy()
    const timeouts = this.#options.timeouts
    if (!this.#attempt.isSent)
      return this.#fail('upstream_timeout', `took no byte of the request for ${timeouts.bodyIdleMs} ms`)
    if (!this.#attempt.isAnswered) return this.#fail('upstream_timeout', `no answer within ${timeouts.responseMs} ms`)
    if (this.#isTunnel)
      return this.#fail('upstream_timeout', `no byte went through the tunnel for ${timeouts.tunnelIdleMs} ms`)
    this.#fail('upstream_timeout', `no byte of the body for ${timeouts.bodyIdleMs} ms`)
  }

  onRequestSent(): void {
    if (this.#attempt?.isAnswered !== true) this.#waitFor(this.#options.timeouts.responseMs)
  }

  onRequestMoved(): void {
    this.#waitForMore()
  }

  onTunnelSaid(): void {
    this.#socket.end()
  }

  onRequestBlocked(): void {
    if (this.#attempt?.isAnswered !== true) this.#waitFor(this.#options.timeouts.bodyIdleMs)
  }

  onAttemptCancelled(failure: Failure | undefined): void {
    const attempt = this.#attempt
    const body = this.#body
    this.#release()
    this.#socket.destroy()
    if (failure === undefined || attempt === undefined) return
    if (attempt.isAnswered) body?.fail(failure)
    else attempt.observer.onFailure(failure)
  }

  onWanted(): void {
    // The sink is given while the head is being handled; the bytes behind it are fed right after.
  }

  pauseReading(): void {
    this.deadlineMs = noDeadline
    this.#socket.pause()
  }

  resumeReading(): void {
    this.#waitForMore()
    this.#socket.resume()
  }

  onUnwanted(failure: Failure): void {
    this.#attempt?.close(failure)
    this.#release()
    this.#socket.destroy()
  }

  #onData(chunk: Buffer): void {
    // Bytes on an idle connection belong to no request: the next one would take them for its answer.
    if (this.#attempt === undefined) return this.destroy()
    this.#hasAnswerBegun = true
    let at = 0
    while (at < chunk.length && this.#attempt !== undefined) {
      at = this.#body === undefined ? this.#takeHead(this.#attempt, chunk, at) : this.#takeBody(this.#body, chunk, at)
    }
    if (at < chunk.length) this.destroy()
  }

  #takeHead(attempt: ClientAttempt, bytes: Buffer, from: number): number {
    const end = this.#intake.take(bytes, from, this.#options.limits)
    if (end > 0) return this.#onHead(attempt, end)
    if (end < 0) this.#fail('upstream_protocol', head.objection)
    return bytes.length
  }

  #onHead(attempt: ClientAttempt, end: number): number {
    if (head.status < 200) return this.#onInformational(attempt, end)
    const framing = responseFraming(head, attempt.request.method)
    if (framing === undefined) {
      this.#fail('upstream_protocol', 'the framing of the answer is contradictory or unknown')
      return end
    }
    attempt.isAnswered = true
    this.#options.owner.onAnswered(head.status)
    this.#isPersistent = isPersistent(head, framing)
    this.#waitForMore()
    this.#hintMs = idleHintMs(head.headers)
    const body = framing.kind === 'none' ? undefined : this.#bodyOf(framing.kind, framing.lengthBytes)
    this.#body = body
    attempt.observer.onResponse(head, body)
    if (body === undefined) this.#onAnswered()
    return end
  }

  #bodyOf(framing: BodyFraming, lengthBytes: number): BodyReader {
    return new BodyReader(this, { framing, lengthBytes, limits: this.#options.limits })
  }

  #onInformational(attempt: ClientAttempt, end: number): number {
    attempt.informationalCount++
    if (head.status === 101) this.#onSwitch(attempt)
    else if (attempt.informationalCount <= informationalMax) attempt.observer.onInformational(head)
    else this.#fail('upstream_protocol', 'too many informational answers')
    return end
  }

  /** RFC 9110 §15.2.2: a switch is to what the request asked for, or it is none. */
  #onSwitch(attempt: ClientAttempt): void {
    const { upgrade } = attempt.request
    if (upgrade === undefined) return this.#fail('upstream_protocol', 'an upgrade that nobody asked for')
    if (upgradeOf(head.headers) !== upgrade) return this.#fail('upstream_protocol', 'an upgrade to something else')
    attempt.isAnswered = true
    this.#isTunnel = true
    this.#isPersistent = false
    this.#options.owner.onAnswered(head.status)
    this.#waitForMore()
    const source = this.#bodyOf('until_close', unknownLength)
    this.#body = source
    attempt.observer.onUpgrade(head, { source, carry: (clientBytes) => attempt.carry(clientBytes) })
  }

  #takeBody(body: BodyReader, bytes: Buffer, from: number): number {
    const end = body.feed(bytes, from)
    if (end === -1) {
      this.#fail('upstream_protocol', 'the chunked framing of the answer is broken')
      return bytes.length
    }
    if (body.isComplete && this.#body === body) this.#onAnswered()
    else if (!body.isBlocked && this.#attempt !== undefined) this.#waitForMore()
    return end
  }

  /** The answer is complete. Bytes behind it, or a request that is still on its way, end the connection. */
  #onAnswered(): void {
    const attempt = this.#attempt
    if (attempt === undefined) return
    const isReusable = attempt.isSent && this.#isPersistent && this.#hintMs > 0 && !this.#isDraining
    attempt.close(new Failure('upstream_reset', 'the endpoint answered before the request was complete'))
    this.#release()
    if (!isReusable || this.capacity === 0) return this.destroy()
    this.#waitFor(Math.min(this.#options.timeouts.idleMs, this.#hintMs))
    this.#socket.resume()
    this.#options.owner.onAvailable(this)
  }

  #onDrain(): void {
    if (this.#attempt?.isAnswered === false && !this.#attempt.isSent) this.deadlineMs = noDeadline
    this.#attempt?.onDrain()
  }

  #onEnd(): void {
    const body = this.#body
    body?.onConnectionEnd()
    if (body?.isComplete === true && this.#body === body) {
      this.#isPersistent = false
      this.#onAnswered()
    } else if (this.#attempt !== undefined) {
      this.#failClosed()
    }
    this.destroy()
  }

  #onClose(): void {
    this.#isClosed = true
    deadlines.forget(this)
    if (this.#attempt !== undefined) this.#failClosed()
    this.#options.owner.onClosed(this)
  }

  #failClosed(): void {
    const detail = this.#error?.message ?? 'the endpoint closed the connection'
    // A pooled connection that dies before it answers was most likely closed before the request reached it.
    const suspect = this.#requests > 1 ? 'connection' : 'endpoint'
    this.#fail('upstream_reset', detail, this.#hasAnswerBegun ? {} : { retry: 'if_idempotent', suspect })
  }

  #fail(code: FailureCode, detail: string, more: { retry?: RetryRule; suspect?: Suspect } = {}): void {
    const attempt = this.#attempt
    const body = this.#body
    this.#release()
    this.#socket.destroy()
    if (attempt === undefined) return
    const failure = new Failure(code, detail, { ...more, cause: this.#error })
    this.#options.owner.onFailed(failure)
    attempt.close(failure)
    if (attempt.isAnswered) body?.fail(failure)
    else attempt.observer.onFailure(failure)
  }

  #release(): void {
    this.#attempt = undefined
    this.#body = undefined
    this.deadlineMs = noDeadline
  }

  /** For bytes of a body, or of a tunnel, either way. */
  #waitForMore(): void {
    const { bodyIdleMs, tunnelIdleMs } = this.#options.timeouts
    this.#waitFor(this.#isTunnel ? tunnelIdleMs : bodyIdleMs)
  }

  #waitFor(milliseconds: number): void {
    this.deadlineMs = nowMs() + milliseconds
  }
}
