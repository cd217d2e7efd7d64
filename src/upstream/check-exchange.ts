// One health check: a whole exchange on a connection of its own, made and spoken like those of requests, so that it fails
// where they would. Used by health checks; ends in exactly one verdict unless it is cancelled.
import type { Attempt, AttemptObserver, OutgoingRequest, Tunnel } from '../wire/attempt.js'
import type { BodySink, BodySource } from '../wire/body.js'
import type { ClientConnection, ClientConnectionOwner } from '../wire/client-connection.js'
import type { ResponseHead } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import type { DialObserver } from './dial.js'
import type { EstablishedTransport } from './transport.js'

/** Statuses from one to another, both included. */
export interface StatusRange {
  readonly from: number
  readonly to: number
}

/** Makes the connection that an exchange needs. */
export interface CheckConnector {
  dial(observer: DialObserver): { cancel(): void }
  open(transport: EstablishedTransport, owner: ClientConnectionOwner): ClientConnection
}

/** What a check is made of. */
export interface CheckParts {
  readonly connector: CheckConnector
  readonly request: OutgoingRequest
  readonly expect: readonly StatusRange[]
  /** Takes the verdict: undefined where the endpoint is well, else what is wrong. */
  readonly onVerdict: (wrong: string | undefined) => void
}

/** Bytes of an answer that are read; one that goes on behind them is well enough. */
export const checkedBytesMax = 65_536

const unwanted = new Failure('client_gone', 'a health check wants no more')

/** One exchange with an endpoint. */
export class CheckExchange implements DialObserver, ClientConnectionOwner, AttemptObserver, BodySink {
  readonly #parts: CheckParts
  #dial: { cancel(): void } | undefined
  #connection: ClientConnection | undefined
  #attempt: Attempt | undefined
  #bytes = 0
  #isOver = false

  constructor(parts: CheckParts) {
    this.#parts = parts
    this.#dial = parts.connector.dial(this)
  }

  /** Ends it without a verdict. */
  cancel(): void {
    this.#isOver = true
    this.#dial?.cancel()
    this.#attempt?.cancel()
    this.#connection?.destroy()
  }

  onConnected(transport: EstablishedTransport): void {
    this.#dial = undefined
    this.#connection = this.#parts.connector.open(transport, this)
    this.#attempt = this.#connection.send(this.#parts.request, this)
  }

  onInformational(): void {}

  onResponse({ status }: ResponseHead, body: BodySource | undefined): void {
    const isExpected = this.#parts.expect.some(({ from, to }) => status >= from && status <= to)
    if (!isExpected) this.#end(`status ${status}`)
    else if (body === undefined) this.#end(undefined)
    else body.flow(this)
  }

  onUpgrade(_head: ResponseHead, tunnel: Tunnel): void {
    tunnel.source.abort(unwanted)
    this.#end('an upgrade that nobody asked for')
  }

  onFailure({ code, detail }: Failure): void {
    this.#end(`${code}: ${detail}`)
  }

  write(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    if (this.#bytes > checkedBytesMax) this.#end(undefined)
    return true
  }

  end(): void {
    this.#end(undefined)
  }

  abort(failure: Failure): void {
    this.onFailure(failure)
  }

  onAvailable(): void {}

  onClosed(): void {}

  onAnswered(): void {}

  onFailed(): void {}

  // What it leaves behind is ended in a turn of its own: the codec is still in the middle of telling.
  #end(wrong: string | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    setImmediate(() => this.#connection?.destroy())
    this.#parts.onVerdict(wrong)
  }
}
