// One request on an HTTP/1 connection and its response: writes the head and frames the body (RFC 9112 §6, §7).
// Made by the server connection for each request; one object is request, downstream and body sink at once.
import type { BodySink, BodySource } from '../wire/body.js'
import { unknownLength } from '../wire/body.js'
import { ByteWriter } from '../wire/byte-writer.js'
import type { Connection } from '../wire/connection.js'
import { httpDate } from '../wire/date.js'
import type { Downstream, ExchangeObserver, Request, ResponseHead } from '../wire/downstream.js'
import type { Failure } from '../wire/failure.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { SocketWriter } from '../wire/socket-writer.js'
import { isBodiless } from '../wire/status.js'
import type { BodyReader } from './body-reader.js'
import { chunkOf, lastChunkOf } from './chunk-writer.js'
import type { RequestHead } from './request-head.js'

/** Bytes of framing and of lines of our own that a head may add. */
const headOverheadBytes = 512

/** A request body that nobody wants is read and thrown away up to this many bytes, so that the connection stays usable. */
const drainedBytesMax = 64 * 1024

const out = new ByteWriter()
const nobody: ExchangeObserver = { onSent: () => undefined, onBroken: () => undefined }

/** The connection that an exchange speaks through. */
export interface ExchangeOwner {
  readonly connection: Connection
  readonly writer: SocketWriter
  /** Whether the response has to announce the end of the connection. Asked once, when the final head is written. */
  decideClose(close: 'demanded' | 'if_needed'): boolean
  /** The response is complete, or was cut off. */
  onResponseEnd(): void
  /** What the client sends from now on, whatever it is, belongs to the exchange. */
  openTunnel(): BodyReader
  /** The client does not take what is written; the exchange's `onDrain` is called when it does again. */
  onResponseBlocked(): void
  /** The connection cannot be used any more and ends now; by `reset` where its mere end would complete the response. */
  breakConnection(how: 'close' | 'reset'): void
}

/** One exchange on an HTTP/1 connection. */
export class ServerExchange implements Downstream, Request, BodySink {
  observer: ExchangeObserver = nobody
  readonly method: string
  readonly target: string
  readonly authority: string | undefined
  readonly headers: HeaderBlock
  /** The request's body; behind a switch of protocols, everything that the client sends. */
  body: BodyReader | undefined
  readonly protocol: 'http/1.0' | 'http/1.1'
  readonly upgrade: string | undefined
  readonly expectsContinue: boolean
  bytesSent = 0
  isAnswered = false
  isEnded = false
  readonly #owner: ExchangeOwner
  #isChunked = false
  #isCloseDelimited = false
  #isTunnel = false
  #source: BodySource | undefined
  #isBlocked = false

  constructor(
    owner: ExchangeOwner,
    head: RequestHead,
    more: { body: BodyReader | undefined; expectsContinue: boolean; upgrade: string | undefined },
  ) {
    this.#owner = owner
    this.method = head.method
    this.target = head.target
    this.authority = head.authority
    this.headers = head.headers
    this.protocol = head.minorVersion === 0 ? 'http/1.0' : 'http/1.1'
    this.body = more.body
    this.expectsContinue = more.expectsContinue
    this.upgrade = more.upgrade
  }

  get request(): Request {
    return this
  }

  get connection(): Connection {
    return this.#owner.connection
  }

  get bytesReceived(): number {
    return this.body === undefined ? 0 : this.body.receivedBytes
  }

  /** Whether so much of the body is still to come that the connection ends rather than read it for nobody. */
  get isBodyTooLong(): boolean {
    const { body } = this
    if (body === undefined || body.isComplete) return false
    if (this.expectsContinue || body.lengthBytes === unknownLength) return true
    return body.lengthBytes - body.receivedBytes > drainedBytesMax
  }

  inform(head: ResponseHead): void {
    if (this.isAnswered || this.protocol === 'http/1.0') return
    this.#startHead(head)
    out.crlf()
    this.#owner.writer.push(out.take())
  }

  respond(head: ResponseHead, body: BodySource | undefined): void {
    if (this.isAnswered) return
    this.isAnswered = true
    this.#source = body
    const isDemanded = head.isLast === true || head.endsConnection === true
    const isClosing = this.#owner.decideClose(isDemanded ? 'demanded' : 'if_needed')
    this.#startHead(head)
    if (head.headers.find(Field.date) === -1) out.line('date', httpDate())
    this.#frame(head, body)
    if (isClosing) out.line('connection', 'close')
    out.crlf()
    if (body === undefined) return this.#finish(out.take())
    this.#owner.writer.push(out.take())
    body.flow(this)
  }

  switchProtocols(head: ResponseHead, source: BodySource): BodySource {
    const body = this.#owner.openTunnel()
    this.isAnswered = true
    this.body = body
    this.#source = source
    this.#isTunnel = true
    this.#startHead(head)
    out.line('connection', 'upgrade')
    out.line('upgrade', this.upgrade ?? '')
    out.crlf()
    this.#owner.writer.push(out.take())
    source.flow(this)
    return body
  }

  write(chunk: Buffer): boolean {
    if (this.isEnded) return true
    this.bytesSent += chunk.length
    const writer = this.#owner.writer
    const isRoomy = writer.pushBody(this.#isChunked ? chunkOf(chunk) : chunk)
    if (!isRoomy && !this.#isBlocked) {
      this.#isBlocked = true
      this.#owner.onResponseBlocked()
    }
    return isRoomy
  }

  end(trailers: HeaderBlock | undefined): void {
    if (this.isEnded) return
    this.#source = undefined
    this.#finish(this.#isChunked ? lastChunkOf(trailers) : undefined)
  }

  // RFC 9112 §8: a body that stays incomplete is only visible as a connection that ends before its framing does,
  // and one without framing only as a connection that breaks.
  abort(failure: Failure): void {
    this.reset(failure)
  }

  reset(failure: Failure): void {
    if (this.isEnded) return
    this.isEnded = true
    const source = this.#source
    this.#source = undefined
    this.#owner.writer.flush()
    this.#owner.breakConnection(this.#isCloseDelimited || this.#isTunnel ? 'reset' : 'close')
    source?.abort(failure)
    this.observer.onBroken(failure)
  }

  /** The client takes bytes again. */
  onDrain(): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    this.#source?.resume()
  }

  #startHead(head: ResponseHead): void {
    out.reserve(head.headers.writtenBytesMax + head.reason.length + headOverheadBytes)
    out.text('HTTP/1.1 ')
    out.text(String(head.status))
    out.byte(0x20)
    out.text(head.reason)
    out.crlf()
    // RFC 9110 §8.6: neither framing line in a 1xx or 204; what an endpoint sends there is not passed on.
    if (head.status < 200 || head.status === 204) head.headers.dropAll(Field.contentLength)
    head.headers.writeLines(out)
  }

  #frame(head: ResponseHead, body: BodySource | undefined): void {
    if (body === undefined) {
      const needsLength = this.method !== 'HEAD' && !isBodiless(head.status) && !hasLength(head.headers)
      if (needsLength) out.line('content-length', '0')
      return
    }
    if (body.lengthBytes !== unknownLength) {
      if (!hasLength(head.headers)) out.line('content-length', String(body.lengthBytes))
      return
    }
    this.#isChunked = this.protocol === 'http/1.1'
    this.#isCloseDelimited = !this.#isChunked
    if (this.#isChunked) out.line('transfer-encoding', 'chunked')
  }

  #finish(last: Buffer | undefined): void {
    this.isEnded = true
    if (last === undefined) this.#owner.writer.flush()
    else this.#owner.writer.finish(last)
    this.observer.onSent()
    this.#owner.onResponseEnd()
  }
}

function hasLength(headers: HeaderBlock): boolean {
  return headers.find(Field.contentLength) !== -1 || headers.added.includes('content-length')
}
