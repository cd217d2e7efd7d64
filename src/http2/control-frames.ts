// The frames that carry no message: SETTINGS, PING, WINDOW_UPDATE, RST_STREAM, GOAWAY, the priorities (RFC 9113 §6). Each is
// cheap to send and costs us something, so each is counted.
import { Failure } from '../wire/failure.js'
import {
  ErrorCode,
  Flag,
  FrameType,
  frameBytesMax,
  initialWindowBytes,
  readUint31,
  readUint32,
  Setting,
  windowBytesMax,
} from './frames.js'
import { parsePriority } from './priority.js'
import type { Session } from './session.js'

/** Takes the control frames of one connection. */
export class ControlFrames {
  /** The client's first SETTINGS have come. */
  isGreeted = false
  /** The client's SETTINGS_INITIAL_WINDOW_SIZE. */
  initialWindowBytes = initialWindowBytes
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  /** Takes a frame whose payload stands at `start` to `end`. */
  take(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number) {
    const session = this.#session
    if (type !== FrameType.rstStream && !session.armour.takesControl(session.eventMs)) {
      session.fail(ErrorCode.enhanceYourCalm, new Failure('flood', `frames of type ${type}`))
      return
    }
    switch (type) {
      case FrameType.settings:
        return this.#settings(flags, streamId, bytes, start, end)
      case FrameType.ping:
        return this.#ping(flags, streamId, bytes, start, end)
      case FrameType.windowUpdate:
        return this.#windowUpdate(streamId, bytes, start, end)
      case FrameType.rstStream:
        return this.#rstStream(streamId, end - start)
      case FrameType.priority:
        return this.#priority(streamId, bytes, start, end)
      case FrameType.priorityUpdate:
        return this.#priorityUpdate(streamId, bytes, start, end)
      case FrameType.goaway:
        return this.#goaway(streamId, end - start)
      case FrameType.pushPromise:
        return this.#fail(ErrorCode.protocolError, 'PUSH_PROMISE from a client')
      // RFC 9113 §4.1: frames of unknown types are ignored.
    }
  }

  #settings(flags: number, streamId: number, bytes: Buffer, start: number, end: number) {
    if (streamId !== 0) return this.#fail(ErrorCode.protocolError, 'SETTINGS on a stream')
    if ((flags & Flag.ack ? end - start : (end - start) % 6) !== 0) {
      return this.#fail(ErrorCode.frameSizeError, 'SETTINGS of a wrong size')
    }
    if (flags & Flag.ack) return
    let windowBytes = this.initialWindowBytes
    for (let at = start; at < end; at += 6) {
      const id = ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
      const value = readUint32(bytes, at + 2)
      const wrong = faultOfSetting(id, value)
      if (wrong !== undefined) return this.#fail(wrong, `setting ${id} is ${value}`)
      if (id === Setting.headerTableSize) this.#session.outbox.encoder.limit(value)
      if (id === Setting.initialWindowSize) windowBytes = value
    }
    this.isGreeted = true
    // Once for all entries: thousands of them in one frame must not walk all streams thousands of times.
    if (windowBytes !== this.initialWindowBytes) this.#moveWindows(windowBytes)
    this.#session.outbox.acknowledgeSettings()
  }

  /** RFC 9113 §6.9.2: a new initial window moves the windows of all open streams, below zero too. */
  #moveWindows(windowBytes: number) {
    const difference = windowBytes - this.initialWindowBytes
    this.initialWindowBytes = windowBytes
    for (const stream of this.#session.streams.all()) {
      stream.sendWindowBytes += difference
      if (stream.sendWindowBytes > windowBytesMax) {
        return this.#fail(ErrorCode.flowControlError, 'a window above the maximum')
      }
      this.#session.outbox.ready(stream)
    }
  }

  #ping(flags: number, streamId: number, bytes: Buffer, start: number, end: number) {
    if (streamId !== 0) return this.#fail(ErrorCode.protocolError, 'PING on a stream')
    if (end - start !== 8) return this.#fail(ErrorCode.frameSizeError, 'PING of a wrong size')
    if (flags & Flag.ack) this.#session.pinged()
    else this.#session.outbox.acknowledgePing(bytes, start)
  }

  #windowUpdate(streamId: number, bytes: Buffer, start: number, end: number) {
    if (end - start !== 4) return this.#fail(ErrorCode.frameSizeError, 'WINDOW_UPDATE of a wrong size')
    const increment = readUint31(bytes, start)
    if (streamId === 0) return this.#openConnection(increment)
    const stream = this.#session.streams.get(streamId)
    if (stream === undefined) return this.#late(streamId, 'WINDOW_UPDATE')
    if (increment === 0) return this.#fault(streamId, ErrorCode.protocolError, 'a window increment of zero')
    if (stream.sendWindowBytes + increment > windowBytesMax) {
      return this.#fault(streamId, ErrorCode.flowControlError, 'a window above the maximum')
    }
    stream.sendWindowBytes += increment
    this.#session.outbox.ready(stream)
  }

  #openConnection(increment: number) {
    if (increment === 0) return this.#fail(ErrorCode.protocolError, 'a window increment of zero')
    const { outbox } = this.#session
    if (outbox.windowBytes + increment > windowBytesMax) {
      return this.#fail(ErrorCode.flowControlError, 'a window above the maximum')
    }
    const wasClosed = outbox.windowBytes <= 0
    outbox.windowBytes += increment
    if (wasClosed) for (const stream of this.#session.streams.all()) outbox.ready(stream)
  }

  #rstStream(streamId: number, length: number) {
    if (length !== 4) return this.#fail(ErrorCode.frameSizeError, 'RST_STREAM of a wrong size')
    const session = this.#session
    const stream = streamId === 0 ? undefined : session.streams.get(streamId)
    const isPaid =
      stream === undefined ? session.armour.takesControl(session.eventMs) : session.armour.takesReset(session.eventMs)
    if (!isPaid) return session.fail(ErrorCode.enhanceYourCalm, new Failure('flood', 'resets'))
    if (stream === undefined) this.#late(streamId, 'RST_STREAM')
    else stream.break(new Failure('client_gone', 'the client reset the stream'))
  }

  /** RFC 9113 §5.3.2: checked, and its signal ignored. */
  #priority(streamId: number, bytes: Buffer, start: number, end: number) {
    if (streamId === 0) return this.#fail(ErrorCode.protocolError, 'PRIORITY on stream 0')
    const isSelf = end - start === 5 && readUint31(bytes, start) === streamId
    if (end - start === 5 && !isSelf) return
    const code = isSelf ? ErrorCode.protocolError : ErrorCode.frameSizeError
    // An idle stream cannot be reset.
    if (this.#session.streams.stateOf(streamId) === 'idle') return this.#fail(code, 'a bad PRIORITY')
    this.#fault(streamId, code, 'a bad PRIORITY')
  }

  /** RFC 9218 §7.1; a stream that has ended is of no interest. */
  #priorityUpdate(streamId: number, bytes: Buffer, start: number, end: number) {
    if (streamId !== 0) return this.#fail(ErrorCode.protocolError, 'PRIORITY_UPDATE on a stream')
    if (end - start < 4) return this.#fail(ErrorCode.frameSizeError, 'PRIORITY_UPDATE of a wrong size')
    const id = readUint31(bytes, start)
    if (id % 2 === 0) return this.#fail(ErrorCode.protocolError, 'PRIORITY_UPDATE of a stream that no client opens')
    const { limits, outbox, streams } = this.#session
    const priority = parsePriority(bytes, start + 4, end)
    const stream = streams.get(id)
    if (stream !== undefined) return outbox.prioritize(stream, priority)
    if (id <= streams.lastId || streams.foretell(id, priority, limits.concurrentStreams)) return
    this.#fail(ErrorCode.protocolError, 'PRIORITY_UPDATE of more streams than may be open')
  }

  #goaway(streamId: number, length: number) {
    if (streamId !== 0) return this.#fail(ErrorCode.protocolError, 'GOAWAY on a stream')
    if (length < 8) return this.#fail(ErrorCode.frameSizeError, 'GOAWAY of a wrong size')
    this.#session.left()
  }

  /** A frame for a stream that is not open: harmless where it crossed its end, an error where it never began. */
  #late(streamId: number, name: string): void {
    const isIdle = streamId === 0 || this.#session.streams.stateOf(streamId) === 'idle'
    if (isIdle) this.#fail(ErrorCode.protocolError, `${name} on an idle stream`)
  }

  #fault(streamId: number, code: number, reason: string): void {
    this.#session.fault(streamId, code, new Failure('bad_request', reason))
  }

  #fail(code: number, reason: string): void {
    this.#session.fail(code, new Failure('bad_request', reason))
  }
}

/** The error that a setting's value is, undefined for a sound one (RFC 9113 §6.5.2). */
function faultOfSetting(id: number, value: number): number | undefined {
  if (id === Setting.enablePush && value > 1) return ErrorCode.protocolError
  if (id === Setting.enableConnectProtocol && value > 1) return ErrorCode.protocolError
  if (id === Setting.noRfc7540Priorities && value > 1) return ErrorCode.protocolError
  if (id === Setting.initialWindowSize && value > windowBytesMax) return ErrorCode.flowControlError
  if (id === Setting.maxFrameSize && (value < frameBytesMax || value > 0xffffff)) return ErrorCode.protocolError
  return undefined
}
