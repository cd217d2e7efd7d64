// What comes on one connection, on either side: decides for each frame what RFC 9113 makes of it, and who takes it.
// Used by the connections; never writes to the socket.
import { Failure } from '../wire/failure.js'
import { ControlFrames } from './control-frames.js'
import { DataIntake } from './data-intake.js'
import { type FrameConsumer, FrameReader } from './frame-reader.js'
import { ErrorCode, Flag, FrameType } from './frames.js'
import { type SectionConsumer, SectionIntake } from './section-intake.js'
import type { FrameSession } from './session.js'

/** Whom the messages are for: requests on one side, responses on the other. */
export interface MessageConsumer extends SectionConsumer {
  /** DATA came for a stream that is not open. */
  onLateData(streamId: number): void
}

/** The receiving half of a connection. */
export class Inbox implements FrameConsumer {
  readonly reader = new FrameReader(this)
  /** Grows with every frame that ends outside of a field section. */
  progress = 0
  readonly #session: FrameSession
  readonly #messages: MessageConsumer
  readonly #control: ControlFrames
  readonly #sections: SectionIntake
  readonly #data: DataIntake

  constructor(session: FrameSession, messages: MessageConsumer) {
    this.#session = session
    this.#messages = messages
    this.#control = new ControlFrames(session)
    this.#sections = new SectionIntake(session, messages)
    this.#data = new DataIntake(session)
  }

  /** Announces the connection's own window, larger than the one it starts with. */
  openWindow(): void {
    this.#data.openWindow()
  }

  /** A head has begun and is not whole; or any other frame, whose first bytes look the same. */
  get isWithinHead(): boolean {
    return this.#sections.isOpen || this.reader.isWithinFrame
  }

  /** The peer's first SETTINGS have come. */
  get isGreeted(): boolean {
    return this.#control.isGreeted
  }

  onBadFrame(code: number, reason: string): void {
    this.#fail(code, reason)
  }

  onFrame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#control.isGreeted && (type !== FrameType.settings || flags & Flag.ack)) {
      this.#fail(ErrorCode.protocolError, 'the first frame is not SETTINGS')
      return
    }
    if (type === FrameType.continuation) {
      this.#sections.continuation(flags, streamId, bytes, start, end)
      return
    }
    if (this.#sections.isOpen) {
      this.#fail(ErrorCode.protocolError, 'a frame within a field section')
      return
    }
    this.progress++
    if (type === FrameType.headers) this.#sections.headers(flags, streamId, bytes, start, end)
    else this.#control.take(type, flags, streamId, bytes, start, end)
  }

  onDataStart(flags: number, streamId: number, dataBytes: number, frameBytes: number): void {
    this.progress++
    if (!this.#control.isGreeted) return this.#fail(ErrorCode.protocolError, 'the first frame is not SETTINGS')
    if (this.#sections.isOpen) return this.#fail(ErrorCode.protocolError, 'DATA within a field section')
    if (!this.#data.takes(flags, streamId, dataBytes, frameBytes)) return
    const stream = this.#session.streams.get(streamId)
    if (stream === undefined) this.#messages.onLateData(streamId)
    else this.#data.start(stream, flags, dataBytes, frameBytes)
  }

  onData(chunk: Buffer): void {
    this.#data.chunk(chunk)
  }

  onDataEnd(): void {
    this.#data.end()
  }

  #fail(code: number, reason: string): void {
    this.#session.fail(code, new Failure(this.#session.blame.protocol, reason))
  }
}
