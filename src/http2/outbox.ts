// What leaves on one connection: the frames of all streams, collected and handed to the socket once a turn. Bodies take
// turns, within the windows that the client gave; while the socket is full they wait, and their sources are told so.
import type { Socket } from 'node:net'
import type { ResponseHead } from '../wire/downstream.js'
import { type Flushable, flushAtEndOfTurn } from '../wire/turn.js'
import { FrameWriter } from './frame-writer.js'
import { Flag, FrameType, frameBytesMax, frameHeadBytes, initialWindowBytes } from './frames.js'
import { HpackEncoder } from './hpack-encoder.js'
import type { Priority } from './priority.js'
import { Schedule } from './schedule.js'
import type { Session } from './session.js'
import type { Http2Stream } from './stream.js'

/** Body bytes of one flush: what one slab holds. More at once would only wait in the socket's own queue. */
const flushBytes = 4 * frameBytesMax
/** Bytes that wait for a full socket above which nothing more is read: who does not read may not make us write. */
const unreadBytesMax = 256 * 1024
/** A frame of the response that pays for the frames that answer it. */
const earningBytes = 1024
const pingPayload = Buffer.from('goodbye!')

/** The sending half of a connection. */
export class Outbox implements Flushable {
  readonly encoder = new HpackEncoder()
  /** What the client lets us send on all streams together. */
  windowBytes = initialWindowBytes
  /** Since when the socket has taken nothing more; undefined while it does. */
  blockedSinceMs: number | undefined
  readonly #session: Session
  readonly #socket: Socket
  #writer: FrameWriter | undefined
  #isScheduled = false
  #isClosed = false
  #queuedBytes = 0
  readonly #schedule = new Schedule()
  #ended: Http2Stream[] = []
  #spare: Http2Stream[] = []
  #paused: Http2Stream[] = []

  constructor(session: Session, socket: Socket) {
    this.#session = session
    this.#socket = socket
  }

  /** A stream's share of memory: one frame for each once all together have too much. */
  get streamBoundBytes(): number {
    const { limits } = this.#session
    return this.#queuedBytes < limits.connectionBufferBytes ? limits.streamBufferBytes : frameBytesMax
  }

  /** A writer whose frames leave at the end of the turn. */
  get writer(): FrameWriter {
    this.#ask()
    this.#writer ??= FrameWriter.acquire()
    return this.#writer
  }

  /** Writes a head; `none` closes our side of the stream. */
  head(streamId: number, head: ResponseHead, body: 'none' | 'follows'): void {
    if (this.#isClosed) return
    const writer = this.writer
    writer.reserve(frameHeadBytes)
    const headAt = writer.at
    writer.at += frameHeadBytes
    this.encoder.encodeResponse(writer, head.status, head.headers)
    this.#frameSection(writer, headAt, streamId, body === 'none' ? Flag.endStream : 0)
  }

  rstStream(streamId: number, code: number): void {
    if (!this.#isClosed) this.writer.rstStream(streamId, code)
  }

  windowUpdate(streamId: number, increment: number): void {
    if (!this.#isClosed) this.writer.windowUpdate(streamId, increment)
  }

  settings(settings: readonly number[]): void {
    if (!this.#isClosed) this.writer.settings(0, settings)
  }

  acknowledgeSettings(): void {
    if (!this.#isClosed) this.writer.settings(Flag.ack, [])
  }

  /** Answers a PING whose eight bytes stand at `start`. */
  acknowledgePing(payload: Uint8Array, start: number): void {
    if (!this.#isClosed) this.writer.ping(Flag.ack, payload, start)
  }

  /** A PING of our own, to know when all that was sent before has arrived. */
  ping(): void {
    if (!this.#isClosed) this.writer.ping(0, pingPayload, 0)
  }

  goaway(lastStreamId: number, code: number, text: string): void {
    if (!this.#isClosed) this.writer.goaway(lastStreamId, code, text)
  }

  /** A stream got bytes, or its end. */
  queued(stream: Http2Stream, bytes: number): void {
    this.#queuedBytes += bytes
    this.ready(stream)
  }

  /** A stream's bytes are not sent any more. */
  dropped(bytes: number): void {
    this.#queuedBytes -= bytes
  }

  /** A stream's source was told to stop. */
  paused(stream: Http2Stream): void {
    this.#paused.push(stream)
  }

  /** A stream's END_STREAM is among what leaves next. */
  ended(stream: Http2Stream): void {
    stream.isLocalEnded = true
    this.#ended.push(stream)
  }

  /** Gives a stream its turn, where it has something that may be sent. */
  ready(stream: Http2Stream): void {
    if (stream.isReady || this.#isClosed || !this.#hasTurn(stream)) return
    this.#schedule.add(stream)
    this.#ask()
  }

  /** The client has changed its mind on a stream (RFC 9218 §7). */
  prioritize(stream: Http2Stream, priority: Priority): void {
    stream.priority = priority
    this.#schedule.move(stream)
  }

  /** The socket has room again. */
  drained(): void {
    this.blockedSinceMs = undefined
    if (this.#socket.isPaused()) this.#socket.resume()
    this.flush()
  }

  flush(): void {
    this.#isScheduled = false
    if (this.#isClosed) return
    this.#session.tick()
    if (this.blockedSinceMs !== undefined) {
      // What piles up meanwhile is what the client makes us say; when it is too much, we stop listening.
      if (this.#writer !== undefined && this.#writer.at > unreadBytesMax) this.#socket.pause()
      return
    }
    this.#writeBodies()
    this.#send()
    this.#resumeSources()
    if (this.#schedule.first !== undefined && this.blockedSinceMs === undefined) this.#ask()
  }

  /** Sends what is written, whatever the state of the socket, and nothing after it. */
  finish(): void {
    this.#send()
    this.close()
  }

  /** Nothing more is sent. */
  close(): void {
    this.#isClosed = true
    this.#writer?.release()
    this.#writer = undefined
    this.#schedule.clear()
    this.#ended = []
    this.#paused = []
  }

  /** Asks for a flush at the end of the turn. */
  #ask(): void {
    if (this.#isScheduled || this.#isClosed) return
    this.#isScheduled = true
    flushAtEndOfTurn(this)
  }

  #hasTurn(stream: Http2Stream): boolean {
    if (stream.isClosed || stream.isLocalEnded) return false
    if (stream.queuedBytes === 0) return stream.isSourceEnded
    return stream.sendWindowBytes > 0 && this.windowBytes > 0
  }

  /** Frame by frame, as their turns come. */
  #writeBodies(): void {
    let roomBytes = flushBytes
    while (roomBytes > 0) {
      const stream = this.#schedule.first
      if (stream === undefined) return
      if (this.#hasTurn(stream)) roomBytes -= this.#writeFrame(stream, roomBytes)
      this.#schedule.advance(this.#hasTurn(stream))
    }
  }

  /** Writes a stream's next frame, or its end; returns the bytes of its body. */
  #writeFrame(stream: Http2Stream, roomBytes: number): number {
    const { writer } = this
    const bytes =
      stream.queuedBytes === 0
        ? 0
        : Math.min(roomBytes, frameBytesMax, stream.queuedBytes, stream.sendWindowBytes, this.windowBytes)
    const isEnd = stream.isSourceEnded && bytes === stream.queuedBytes
    const flags = isEnd && stream.trailers === undefined ? Flag.endStream : 0
    if (bytes > 0 || flags !== 0) this.#writeData(writer, stream, bytes, flags)
    if (!isEnd) return bytes
    if (stream.trailers !== undefined) this.#writeTrailers(writer, stream)
    this.ended(stream)
    return bytes
  }

  #writeData(writer: FrameWriter, stream: Http2Stream, bytes: number, flags: number): void {
    writer.reserve(frameHeadBytes + bytes)
    writer.frameHead(bytes, FrameType.data, flags, stream.id)
    stream.fill(writer, bytes)
    this.windowBytes -= bytes
    this.#queuedBytes -= bytes
    // What we send is answered by WINDOW_UPDATEs, one for the stream and one for the connection; but a window that is
    // opened byte by byte earns nothing.
    if (bytes >= earningBytes || stream.queuedBytes === 0) this.#session.armour.earnControl(2)
  }

  #writeTrailers(writer: FrameWriter, stream: Http2Stream): void {
    if (stream.trailers === undefined) return
    writer.reserve(frameHeadBytes)
    const headAt = writer.at
    writer.at += frameHeadBytes
    this.encoder.encodeTrailers(writer, stream.trailers)
    this.#frameSection(writer, headAt, stream.id, Flag.endStream)
  }

  /** Puts the frame head before a section that was written behind room for it. */
  #frameSection(writer: FrameWriter, headAt: number, streamId: number, endFlag: number): void {
    const end = writer.at
    const sectionBytes = end - headAt - frameHeadBytes
    writer.at = headAt
    if (sectionBytes > frameBytesMax) {
      continueSection(writer, Buffer.from(writer.bytes.subarray(end - sectionBytes, end)), streamId, endFlag)
      return
    }
    writer.frameHead(sectionBytes, FrameType.headers, endFlag | Flag.endHeaders, streamId)
    writer.at = end
  }

  /** One write for all that the turn brought; then the streams whose last byte was in it hear of it. */
  #send(): void {
    const writer = this.#writer
    if (writer === undefined) return
    this.#writer = undefined
    if (!writer.send(this.#socket)) {
      this.blockedSinceMs ??= this.#session.eventMs
      this.#session.blocked()
    }
    if (this.#ended.length === 0) return
    const ended = this.#ended
    this.#ended = this.#spare
    for (let index = 0; index < ended.length; index++) (ended[index] as Http2Stream).sent()
    ended.length = 0
    this.#spare = ended
  }

  #resumeSources(): void {
    if (this.#paused.length === 0) return
    const paused = this.#paused
    this.#paused = []
    const boundBytes = this.streamBoundBytes / 2
    for (const stream of paused) {
      if (stream.isClosed) continue
      if (stream.queuedBytes <= boundBytes) stream.resumeSource()
      else this.#paused.push(stream)
    }
  }
}

/** Writes a section that is larger than a frame. */
function continueSection(writer: FrameWriter, section: Buffer, streamId: number, endFlag: number): void {
  for (let at = 0; at < section.length; at += frameBytesMax) {
    const end = Math.min(section.length, at + frameBytesMax)
    const lastFlag = end === section.length ? Flag.endHeaders : 0
    writer.reserve(frameHeadBytes + end - at)
    if (at === 0) writer.frameHead(end, FrameType.headers, endFlag | lastFlag, streamId)
    else writer.frameHead(end - at, FrameType.continuation, lastFlag, streamId)
    writer.copy(section, at, end)
  }
}
