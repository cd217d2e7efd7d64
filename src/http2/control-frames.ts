// The frames that carry no message: SETTINGS, PING, WINDOW_UPDATE, RST_STREAM, GOAWAY, the priorities (RFC 9113 §6). Each is
// cheap to send and costs us something, so each is counted.
import { Failure } from '../wire/failure.js'
import { ErrorCode, Flag, FrameType, frameBytesMax, readUint31, readUint32, Setting, windowBytesMax } from './frames.js'
import { parsePriority } from './priority.js'
import type { FrameSession } from './session.js'

/** Bytes of a GOAWAY's debug data that are worth telling. */
const goodbyeTextMax = 128

/** Takes the control frames of one connection, on either side. */
export class ControlFrames {
  /** The peer's first SETTINGS have come. */
  isGreeted = false
  readonly #session: FrameSession

  constructor(session: FrameSession) {
    this.#session = session
  }

  /** Takes a frame whose payload stands at `start` to `end`. */
  take(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number) {
    const session = this.#session
    if (type !== FrameType.rstStream && !session.armour.takesControl(session.eventMs)) {
      session.fail(ErrorCode.enhanceYourCalm, new Failure(session.blame.flood, `frames of type ${type}`))
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
        return this.#rstStream(streamId, bytes, start, end)
      case FrameType.priority:
        return this.#priority(streamId, bytes, start, end)
      case FrameType.priorityUpdate:
        return this.#priorityUpdate(streamId, bytes, start, end)
      case FrameType.goaway:
        return this.#goaway(streamId, bytes, start, end)
      case FrameType.pushPromise:
        return this.#fail(ErrorCode.protocolError, 'PUSH_PROMISE')
      // RFC 9113 §4.1: frames of unknown types are ignored.
    }
  }

  #settings(flags: number, streamId: number, bytes: Buffer, start: number, end: number) {
    if (streamId !== 0) return this.#fail(ErrorCode.protocolError, 'SETTINGS on a stream')
    if ((flags & Flag.ack ? end - start : (end - start) % 6) !== 0) {
      return this.#fail(ErrorCode.frameSizeError, 'SETTINGS of a wrong size')
    }
    if (flags & Flag.ack) return
    const { outbox } = this.#session
    let windowBytes = outbox.initialWindowBytes
    for (let at = start; at < end; at += 6) {
      const id = ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
      const value = readUint32(bytes, at + 2)
      const wrong = faultOfSetting(id, value)
      if (wrong !== undefined) return this.#fail(wrong, `setting ${id} is ${value}`)
      if (id === Setting.headerTableSize) outbox.limitTable(value)
      if (id === Setting.initialWindowSize) windowBytes = value
      this.#session.announced(id, value)
    }
    this.isGreeted = true
    // Once for all entries: thousands of them in one frame must not walk all streams thousands of times.
    if (windowBytes !== outbox.initialWindowBytes) this.#moveWindows(windowBytes)
    outbox.acknowledgeSettings()
    this.#session.settled()
  }

  /** RFC 9113 §6.9.2: a new initial window moves the windows of all open streams, below zero too. */
  #moveWindows(windowBytes: number) {
    const { outbox, streams } = this.#session
    const difference = windowBytes - outbox.initialWindowBytes
    outbox.initialWindowBytes = windowBytes
    for (const stream of streams.all()) {
      stream.sendWindowBytes += difference
      if (stream.sendWindowBytes > windowBytesMax) {
        return this.#fail(ErrorCode.flowControlError, 'a window above the maximum')
      }
      outbox.ready(stream)
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

  #rstStream(streamId: number, bytes: Buffer, start: number, end: number) {
    if (end - start !== 4) return this.#fail(ErrorCode.frameSizeError, 'RST_STREAM of a wrong size')
    const session = this.#session
    const stream = streamId === 0 ? undefined : session.streams.get(streamId)
    if (!session.wasReset(stream, readUint32(bytes, start))) {
      return session.fail(ErrorCode.enhanceYourCalm, new Failure(session.blame.flood, 'resets'))
    }
    if (stream === undefined) this.#late(streamId, 'RST_STREAM')
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
    if (this.#session.peer === 'server') return this.#fail(ErrorCode.protocolError, 'PRIORITY_UPDATE from a server')
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

  #goaway(streamId: number, bytes: Buffer, start: number, end: number) {
    if (streamId !== 0) return this.#fail(ErrorCode.protocolError, 'GOAWAY on a stream')
    if (end - start < 8) return this.#fail(ErrorCode.frameSizeError, 'GOAWAY of a wrong size')
    const text = bytes.toString('latin1', start + 8, Math.min(end, start + 8 + goodbyeTextMax))
    this.#session.left(readUint31(bytes, start), readUint32(bytes, start + 4), text)
  }

  /** A frame for a stream that is not open: harmless where it crossed its end, an error where it never began. */
  #late(streamId: number, name: string): void {
    const isIdle = streamId === 0 || this.#session.streams.stateOf(streamId) === 'idle'
    if (isIdle) this.#fail(ErrorCode.protocolError, `${name} on an idle stream`)
  }

  #fault(streamId: number, code: number, reason: string): void {
    this.#session.fault(streamId, code, new Failure(this.#session.blame.protocol, reason))
  }

  #fail(code: number, reason: string): void {
    this.#session.fail(code, new Failure(this.#session.blame.protocol, reason))
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
