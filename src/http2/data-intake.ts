// Takes DATA frames (RFC 9113 §6.1) into the bodies of their streams, within the windows that were given and the length that
// was announced. Used by the inbox of either side.
import { Failure } from '../wire/failure.js'
import { ReceiveWindow } from './flow-control.js'
import { ErrorCode, Flag, initialWindowBytes } from './frames.js'
import type { FrameSession, ReceivingStream } from './session.js'

/** A DATA frame that pays for a control frame beside it. */
const earningBytes = 1024

/** The bodies that come on one connection. */
export class DataIntake {
  readonly #session: FrameSession
  readonly #window = new ReceiveWindow(initialWindowBytes)
  #stream: ReceivingStream | undefined
  #flags = 0

  constructor(session: FrameSession) {
    this.#session = session
  }

  /** Announces the connection's own window, larger than the one it starts with. */
  openWindow(): void {
    const increment = this.#window.credit(this.#session.limits.connectionWindowBytes - initialWindowBytes)
    this.#session.outbox.windowUpdate(0, increment)
  }

  /** What concerns the connection: false where it ends. */
  takes(flags: number, streamId: number, dataBytes: number, frameBytes: number): boolean {
    this.#stream = undefined
    const { armour, blame, eventMs, outbox } = this.#session
    if (streamId === 0) this.#fail(ErrorCode.protocolError, 'DATA on stream 0')
    else if (!this.#window.take(frameBytes)) this.#fail(ErrorCode.flowControlError, 'the connection window is used up')
    else if (dataBytes === 0 && !(flags & Flag.endStream) && !armour.takesControl(eventMs)) {
      this.#session.fail(ErrorCode.enhanceYourCalm, new Failure(blame.flood, 'empty DATA'))
    } else {
      // Given back on arrival: what a stream does not take is bounded by its own window and must not hold up the others.
      this.#window.owe(frameBytes)
      if (this.#window.isDue) outbox.windowUpdate(0, this.#window.credit(0))
      if (dataBytes >= earningBytes) armour.earnControl(1)
      return true
    }
    return false
  }

  /** A frame of an open stream begins. */
  start(stream: ReceivingStream, flags: number, dataBytes: number, frameBytes: number): void {
    if (!this.#accepts(stream, flags, dataBytes, frameBytes)) return
    this.#stream = stream
    this.#flags = flags
  }

  chunk(chunk: Buffer): void {
    const stream = this.#stream
    if (stream === undefined || stream.isClosed) return
    stream.bytesReceived += chunk.length
    stream.movedMs = this.#session.eventMs
    stream.body?.receive(chunk)
  }

  end(): void {
    const stream = this.#stream
    this.#stream = undefined
    if (stream !== undefined && !stream.isClosed && this.#flags & Flag.endStream) stream.endRemote(undefined)
  }

  /** RFC 9113 §8.1.1: what comes and what content-length says must agree, before a byte too many is passed on. */
  #accepts(stream: ReceivingStream, flags: number, dataBytes: number, frameBytes: number): boolean {
    const { body } = stream
    if (stream.isRemoteEnded)
      return this.#fault(stream.id, ErrorCode.streamClosed, 'DATA behind the end of the message')
    if (body === undefined) {
      return dataBytes === 0 || this.#fault(stream.id, ErrorCode.protocolError, 'DATA where no body may be')
    }
    if (!body.accept(frameBytes, dataBytes)) {
      return this.#fault(stream.id, ErrorCode.flowControlError, 'the stream window is used up')
    }
    const bytes = stream.bytesReceived + dataBytes
    const isWrong =
      body.lengthBytes >= 0 && (bytes > body.lengthBytes || (flags & Flag.endStream && bytes < body.lengthBytes))
    return !isWrong || this.#fault(stream.id, ErrorCode.protocolError, 'the body is not as long as announced')
  }

  #fault(streamId: number, code: number, reason: string): false {
    this.#session.fault(streamId, code, new Failure(this.#session.blame.body, reason))
    return false
  }

  #fail(code: number, reason: string): void {
    this.#session.fail(code, new Failure(this.#session.blame.protocol, reason))
  }
}
