// A body on its way from the peer, on either side of a connection. Gives the peer's window back as the sink takes bytes: a
// sink that is full, or not there yet, costs one stream window of memory and no more.
import type { BodySink, BodySource } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { ReceiveWindow, type WindowPool } from './flow-control.js'

/** The connection that a body comes on. */
export interface ReceivedBodyHome {
  readonly pool: WindowPool
  /** Reads the clock. */
  tick(): number
  readonly outbox: { windowUpdate(streamId: number, increment: number): void }
  readonly limits: { readonly streamWindowBytes: number; readonly streamWindowBytesMax: number }
}

/** A received body; filled by its stream, read by whoever handles the message. */
export class ReceivedBody implements BodySource {
  readonly lengthBytes: number
  /** The sink has no room: that nothing comes is not the peer's fault. */
  isFull = false
  /** When the sink had room again, after it had none. */
  resumedMs = 0
  /** Nobody takes what still comes. */
  isUnwanted = false
  readonly #home: ReceivedBodyHome
  readonly #streamId: number
  readonly #window: ReceiveWindow
  #grownBytes = 0
  #untakenBytes = 0
  #sink: BodySink | undefined
  #isEnded = false
  #failure: Failure | undefined
  #trailers: HeaderBlock | undefined
  // What came before the sink did.
  #waiting: Buffer[] | undefined

  constructor(home: ReceivedBodyHome, streamId: number, lengthBytes: number) {
    this.#home = home
    this.#streamId = streamId
    this.lengthBytes = lengthBytes
    this.#window = new ReceiveWindow(home.limits.streamWindowBytes)
  }

  flow(sink: BodySink): void {
    this.#sink = sink
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const chunk of waiting) if (!sink.write(chunk)) this.isFull = true
    if (!this.isFull) this.#take()
    if (this.#isEnded) this.#sink?.end(this.#trailers)
    else if (this.#failure !== undefined) this.#sink?.abort(this.#failure)
    if (this.#isEnded || this.#failure !== undefined) this.#sink = undefined
  }

  resume(): void {
    this.isFull = false
    this.resumedMs = this.#home.tick()
    this.#take()
  }

  abort(_failure: Failure): void {
    this.isUnwanted = true
    this.#sink = undefined
    this.#waiting = undefined
  }

  /** Accounts for a DATA frame, padding included; false where the peer sent more than it may. */
  accept(frameBytes: number, dataBytes: number): boolean {
    if (!this.#window.take(frameBytes)) return false
    this.#window.owe(frameBytes - dataBytes)
    return true
  }

  /** Takes a part of the body. */
  receive(chunk: Buffer): void {
    if (this.isUnwanted) return
    this.#untakenBytes += chunk.length
    if (this.#sink === undefined) {
      this.#waiting ??= []
      this.#waiting.push(chunk)
      return
    }
    if (!this.#sink.write(chunk)) this.isFull = true
    if (!this.isFull) this.#take()
  }

  /** All has come; `trailers` are lent. */
  finish(trailers: HeaderBlock | undefined): void {
    if (this.isUnwanted) return
    this.#isEnded = true
    const sink = this.#sink
    if (sink === undefined) {
      this.#trailers = trailers?.clone()
      return
    }
    this.#sink = undefined
    sink.end(trailers)
  }

  /** The rest will not come. */
  fail(failure: Failure): void {
    if (this.isUnwanted || this.#isEnded) return
    this.isUnwanted = true
    this.#failure = failure
    this.#waiting = undefined
    const sink = this.#sink
    this.#sink = undefined
    sink?.abort(failure)
  }

  /** Gives back what its window grew by. */
  release(): void {
    this.#home.pool.release(this.#grownBytes)
    this.#grownBytes = 0
  }

  /** The sink has taken all that it was given: the peer may send as much again. */
  #take(): void {
    this.#window.owe(this.#untakenBytes)
    this.#untakenBytes = 0
    if (this.#isEnded || this.isUnwanted || !this.#window.isDue) return
    this.#home.outbox.windowUpdate(this.#streamId, this.#window.credit(this.#growth()))
  }

  /** A window that is used up as fast as it is given doubles, as far as the connection's pool allows. */
  #growth(): number {
    const { sizeBytes } = this.#window
    const wantedBytes = Math.min(sizeBytes, this.#home.limits.streamWindowBytesMax - sizeBytes)
    const grownBytes = wantedBytes > 0 ? this.#home.pool.acquire(wantedBytes) : 0
    this.#grownBytes += grownBytes
    return grownBytes
  }
}
