// Makes connections to the address of an endpoint: the only place that opens a socket to one. Used by endpoints.
import { connect, type Socket } from 'node:net'
import { ByteWriter } from '../wire/byte-writer.js'
import type { Transport } from '../wire/client-connection.js'
import { deadlines, nowMs, type Timed } from '../wire/deadlines.js'
import { Failure } from '../wire/failure.js'

/** Where to, and how long it may take. */
export interface DialOptions {
  /** A literal address or a name for the system's resolver. */
  readonly host: string
  readonly port: number
  readonly connectMs: number
}

/** Hears how a dial ends: exactly one of the two, once, unless it was cancelled. */
export interface DialObserver {
  onConnected(transport: Transport): void
  onFailure(failure: Failure): void
}

// One buffer to read into and a copy of what came cost less than a buffer of 64 KiB for each read, cut to what came,
// and its way through a stream.
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)
const received = new ByteWriter()

/** One connection in the making. */
export class Dial implements Transport, Timed {
  readonly socket: Socket
  readonly deadlineMs: number
  readonly #options: DialOptions
  readonly #observer: DialObserver
  #isSettled = false
  #error: Error | undefined

  constructor(options: DialOptions, observer: DialObserver) {
    this.#options = options
    this.#observer = observer
    this.deadlineMs = nowMs() + options.connectMs
    // Literal addresses are dialled as they are; `autoSelectFamily` would abort slow attempts after 250 ms.
    this.socket = connect({
      host: options.host,
      port: options.port,
      noDelay: true,
      autoSelectFamily: false,
      onread: { buffer: readBuffer, callback: (bytes) => this.#onRead(bytes) },
    })
    this.socket.on('connect', () => this.#onConnect())
    this.socket.on('error', (error: Error) => {
      this.#error = error
    })
    this.socket.on('close', () => this.#fail('upstream_unreachable', this.#error?.message ?? 'closed while connecting'))
    deadlines.watch(this)
  }

  onBytes: (chunk: Buffer) => void = () => this.socket.destroy()

  onDeadline(): void {
    this.#fail('upstream_timeout', `not connected within ${this.#options.connectMs} ms`)
  }

  /** Nobody wants the connection any more; the observer hears nothing. */
  cancel(): void {
    if (this.#settle()) this.socket.destroy()
  }

  #onConnect(): void {
    if (this.#settle()) this.#observer.onConnected(this)
  }

  #fail(code: 'upstream_unreachable' | 'upstream_timeout', detail: string): void {
    if (!this.#settle()) return
    this.socket.destroy()
    this.#observer.onFailure(new Failure(code, detail, { retry: 'always', cause: this.#error }))
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    deadlines.forget(this)
    return true
  }

  /** Takes what stands in the buffer that all connections read into, before the next read overwrites it. */
  #onRead(bytes: number): boolean {
    received.reserve(bytes)
    received.copy(readBuffer, 0, bytes)
    this.onBytes(received.take())
    return true
  }
}
