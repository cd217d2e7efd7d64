// What comes on one connection: decides for each frame what RFC 9113 makes of it. Opens streams, fills their bodies,
// moves their windows; never writes to the socket.
import { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { ControlFrames } from './control-frames.js'
import { FieldSection } from './field-section.js'
import { ReceiveWindow } from './flow-control.js'
import { type FrameConsumer, FrameReader } from './frame-reader.js'
import { ErrorCode, Flag, FrameType, initialWindowBytes, readUint31 } from './frames.js'
import { HpackDecoder } from './hpack-decoder.js'
import { report } from './refusals.js'
import { RequestBody } from './request-body.js'
import { bodyBytesOf, faultOf, priorityOf, refusalOf, requestOf } from './request-head.js'
import { SectionAssembler } from './section-assembler.js'
import type { Session } from './session.js'
import { Http2Stream } from './stream.js'

/** One for the process: a section is read before the next one comes, on whatever connection. */
const section = new FieldSection()

/** A DATA frame that pays for a control frame beside it. */
const earningBytes = 1024

/** The receiving half of a connection. */
export class Inbox implements FrameConsumer {
  readonly reader = new FrameReader(this)
  readonly assembler = new SectionAssembler()
  /** Grows with every frame that ends outside of a field section. */
  progress = 0
  readonly #session: Session
  readonly #control: ControlFrames
  readonly #decoder = new HpackDecoder()
  readonly #window = new ReceiveWindow(initialWindowBytes)
  #dataStream: Http2Stream | undefined
  #dataFlags = 0

  constructor(session: Session) {
    this.#session = session
    this.#control = new ControlFrames(session)
  }

  /** Announces the connection's own window, larger than the one it starts with. */
  openWindow(): void {
    const increment = this.#window.credit(this.#session.limits.connectionWindowBytes - initialWindowBytes)
    this.#session.outbox.windowUpdate(0, increment)
  }

  /** A head has begun and is not whole; or any other frame, whose first bytes look the same. */
  get isWithinHead(): boolean {
    return this.assembler.streamId !== 0 || this.reader.isWithinFrame
  }

  /** The client's first SETTINGS have come. */
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
      this.#continuation(flags, streamId, bytes, start, end)
      return
    }
    if (this.assembler.streamId !== 0) {
      this.#fail(ErrorCode.protocolError, 'a frame within a field section')
      return
    }
    this.progress++
    if (type === FrameType.headers) this.#headers(flags, streamId, bytes, start, end)
    else this.#control.take(type, flags, streamId, bytes, start, end)
  }

  onDataStart(flags: number, streamId: number, dataBytes: number, frameBytes: number): void {
    this.#dataStream = undefined
    this.progress++
    if (!this.#takesData(flags, streamId, dataBytes, frameBytes)) return
    const stream = this.#session.streams.get(streamId)
    if (stream === undefined) this.#lateData(streamId)
    else if (this.#acceptsData(stream, flags, dataBytes, frameBytes)) {
      this.#dataStream = stream
      this.#dataFlags = flags
    }
  }

  onData(chunk: Buffer): void {
    const stream = this.#dataStream
    if (stream === undefined || stream.isClosed) return
    stream.bytesReceived += chunk.length
    stream.movedMs = this.#session.eventMs
    stream.body?.receive(chunk)
  }

  onDataEnd(): void {
    const stream = this.#dataStream
    this.#dataStream = undefined
    if (stream === undefined || stream.isClosed || !(this.#dataFlags & Flag.endStream)) return
    this.#endRequest(stream, undefined)
  }

  #endRequest(stream: Http2Stream, trailers: HeaderBlock | undefined): void {
    stream.isRemoteEnded = true
    stream.body?.finish(trailers)
  }

  /** What concerns the connection: false where it ends. */
  #takesData(flags: number, streamId: number, dataBytes: number, frameBytes: number): boolean {
    const { armour, eventMs, outbox } = this.#session
    if (!this.#control.isGreeted) this.#fail(ErrorCode.protocolError, 'the first frame is not SETTINGS')
    else if (this.assembler.streamId !== 0) this.#fail(ErrorCode.protocolError, 'DATA within a field section')
    else if (streamId === 0) this.#fail(ErrorCode.protocolError, 'DATA on stream 0')
    else if (!this.#window.take(frameBytes)) this.#fail(ErrorCode.flowControlError, 'the connection window is used up')
    else if (dataBytes === 0 && !(flags & Flag.endStream) && !armour.takesControl(eventMs)) this.#flood('empty DATA')
    else {
      // Given back on arrival: what a stream does not take is bounded by its own window and must not hold up the others.
      this.#window.owe(frameBytes)
      if (this.#window.isDue) outbox.windowUpdate(0, this.#window.credit(0))
      if (dataBytes >= earningBytes) armour.earnControl(1)
      return true
    }
    return false
  }

  /** RFC 9113 §8.1.1: what comes and what content-length says must agree, before a byte too many is passed on. */
  #acceptsData(stream: Http2Stream, flags: number, dataBytes: number, frameBytes: number): boolean {
    const { body } = stream
    if (stream.isRemoteEnded) {
      this.#fault(stream.id, ErrorCode.streamClosed, new Failure('bad_body', 'DATA behind the end of the request'))
      return false
    }
    if (body === undefined) return true
    if (!body.accept(frameBytes, dataBytes)) {
      this.#fault(stream.id, ErrorCode.flowControlError, new Failure('bad_body', 'the stream window is used up'))
      return false
    }
    const bytes = stream.bytesReceived + dataBytes
    const isWrong =
      body.lengthBytes >= 0 && (bytes > body.lengthBytes || (flags & Flag.endStream && bytes < body.lengthBytes))
    if (!isWrong) return true
    this.#fault(stream.id, ErrorCode.protocolError, new Failure('bad_body', 'the body is not as long as announced'))
    return false
  }

  #lateData(streamId: number): void {
    const state = this.#session.streams.stateOf(streamId)
    if (state === 'idle') this.#fail(ErrorCode.protocolError, 'DATA on an idle stream')
    if (state === 'closed' || state === 'skipped') {
      this.#fault(streamId, ErrorCode.streamClosed, new Failure('bad_body', 'DATA on a closed stream'))
    }
  }

  #headers(flags: number, streamId: number, bytes: Buffer, from: number, to: number) {
    const padding = flags & Flag.padded ? 1 + (bytes[from] as number) : 0
    const priority = flags & Flag.priority ? 5 : 0
    const start = from + (padding > 0 ? 1 : 0)
    const end = padding > 0 ? to - padding + 1 : to
    if (streamId % 2 === 0) return this.#fail(ErrorCode.protocolError, 'HEADERS on a stream that no client opens')
    if ((flags & Flag.padded && to === from) || end < start) {
      return this.#fail(ErrorCode.protocolError, 'more padding than payload')
    }
    if (end - start < priority) return this.#fail(ErrorCode.frameSizeError, 'HEADERS too short')
    const dependsOnItself = priority > 0 && readUint31(bytes, start) === streamId
    this.assembler.open(streamId, flags, dependsOnItself)
    if (flags & Flag.endHeaders) this.#section(bytes, start + priority, end)
    else this.#collect(bytes, start + priority, end)
  }

  #continuation(flags: number, streamId: number, bytes: Buffer, start: number, end: number) {
    if (streamId === 0 || streamId !== this.assembler.streamId) {
      return this.#fail(ErrorCode.protocolError, 'CONTINUATION without a field section')
    }
    if (!this.#collect(bytes, start, end) || !(flags & Flag.endHeaders)) return
    const { assembler } = this
    this.#section(assembler.bytes, 0, assembler.length)
  }

  #collect(bytes: Buffer, start: number, end: number): boolean {
    const { assembler } = this
    const { armour, limits, eventMs } = this.#session
    if (start === end && !armour.takesControl(eventMs)) {
      this.#flood('empty HEADERS or CONTINUATION')
      return false
    }
    assembler.append(bytes, start, end)
    if (assembler.length <= limits.sectionBytes && assembler.frameCount <= limits.continuationFrames + 1) return true
    this.#flood('a field section without end')
    return false
  }

  /** A whole section has come. HPACK first, whatever becomes of it: the tables of both sides must stay the same. */
  #section(bytes: Buffer, start: number, end: number) {
    const { assembler } = this
    const { streamId } = assembler
    const stream = this.#session.streams.get(streamId)
    section.begin(stream === undefined ? 'request' : 'trailers', end - start, this.#session.limits)
    const isSound = this.#decoder.decode(bytes, start, end, section)
    assembler.close()
    if (!isSound) return this.#fail(ErrorCode.compressionError, 'HPACK')
    if (stream !== undefined) this.#trailers(stream)
    else if (streamId > this.#session.streams.lastId) this.#request(streamId)
    else this.#lateHeaders(streamId)
  }

  #trailers(stream: Http2Stream) {
    const { flags, dependsOnItself } = this.assembler
    if (stream.isRemoteEnded) {
      return this.#fault(stream.id, ErrorCode.streamClosed, new Failure('bad_body', 'HEADERS behind the end'))
    }
    if (stream.request.upgrade !== undefined) {
      // RFC 9113 §8.5: nothing but DATA stands on the stream of a CONNECT.
      return this.#fault(stream.id, ErrorCode.protocolError, new Failure('bad_body', 'HEADERS in a tunnel'))
    }
    const length = stream.body?.lengthBytes ?? -1
    if (!(flags & Flag.endStream) || section.fault !== undefined || section.isTooLarge || dependsOnItself) {
      return this.#fault(stream.id, ErrorCode.protocolError, new Failure('bad_body', section.fault ?? 'bad trailers'))
    }
    if (length >= 0 && stream.bytesReceived !== length) {
      return this.#fault(stream.id, ErrorCode.protocolError, new Failure('bad_body', 'a body shorter than announced'))
    }
    this.#endRequest(stream, section.block)
  }

  #lateHeaders(streamId: number) {
    const state = this.#session.streams.stateOf(streamId)
    if (state === 'reset_here' && this.#session.armour.takesControl(this.#session.eventMs)) return
    if (state === 'reset_here') return this.#flood('HEADERS on streams that were reset')
    const code = state === 'closed' ? ErrorCode.streamClosed : ErrorCode.protocolError
    this.#fail(code, 'HEADERS on a stream that has ended')
  }

  #request(streamId: number) {
    const session = this.#session
    const { streams, limits } = session
    streams.lastId = streamId
    const { flags, dependsOnItself } = this.assembler
    const body = flags & Flag.endStream ? 'none' : 'follows'
    const bodyBytes = bodyBytesOf(section)
    const fault = dependsOnItself
      ? new Failure('bad_request', 'a stream that depends on itself')
      : faultOf(section, bodyBytes, body)
    if (fault !== undefined) return this.#refuseMalformed(streamId, fault)
    if (!session.isTaking || streams.size >= limits.concurrentStreams) return this.#refuseStream(streamId)
    session.armour.earnControl(3)
    const stream = this.#open(streamId, body, bodyBytes)
    const refusal = refusalOf(section, limits)
    if (refusal !== undefined) session.refuse(stream, refusal)
    else session.service.handle(stream)
  }

  #open(streamId: number, framing: 'none' | 'follows', bodyBytes: number): Http2Stream {
    const session = this.#session
    if (section.hasCrumbs && !section.isTooLarge) section.joinCookies()
    const isTunnel = section.protocol !== undefined
    const body = framing === 'none' && !isTunnel ? undefined : new RequestBody(session, streamId, bodyBytes)
    const stream = new Http2Stream(session, {
      id: streamId,
      // What a tunnel carries is no body: nothing is framed, and nobody waits for its end.
      request: requestOf(section, isTunnel ? undefined : body),
      body,
      priority: session.streams.takeForetold(streamId) ?? priorityOf(section),
      sendWindowBytes: this.#control.initialWindowBytes,
    })
    session.opened(stream)
    if (framing === 'none') this.#endRequest(stream, undefined)
    return stream
  }

  #refuseMalformed(streamId: number, failure: Failure): void {
    const { method, path: target, authority } = section
    report(this.#session, failure, null, { method, target, authority })
    this.#fault(streamId, ErrorCode.protocolError, failure)
  }

  #refuseStream(streamId: number): void {
    const { armour, eventMs, isTaking, outbox, streams } = this.#session
    // Behind a GOAWAY: the client could not know, so it is no fault of its own.
    if (!isTaking && armour.takesControl(eventMs)) {
      outbox.rstStream(streamId, ErrorCode.refusedStream)
      streams.remember(streamId, 'reset_here')
      return
    }
    this.#fault(streamId, ErrorCode.refusedStream, new Failure('flood', 'more streams than announced'))
  }

  #fault(streamId: number, code: number, failure: Failure): void {
    this.#session.fault(streamId, code, failure)
  }

  #flood(reason: string): void {
    this.#session.fail(ErrorCode.enhanceYourCalm, new Failure('flood', reason))
  }

  #fail(code: number, reason: string): void {
    this.#session.fail(code, new Failure('bad_request', reason))
  }
}
