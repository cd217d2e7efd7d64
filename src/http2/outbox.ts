// What leaves on one connection: the frames of all streams, collected and handed to the socket once a turn. Bodies take
// turns, within the windows that the peer gave; while the socket is full they wait, and their sources are told so.
import type { Socket } from 'node:net'
import type { ResponseHead } from '../wire/downstream.js'
import { type Flushable, flushAtEndOfTurn } from '../wire/turn.js'
import { FrameWriter } from './frame-writer.js'
import { Flag, FrameType, frameBytesMax, frameHeadBytes, initialWindowBytes, preface } from './frames.js'
import type { RequestHead } from './hpack-encoder.js'
import type { OutgoingStream } from './outgoing-stream.js'
import type { Priority } from './priority.js'
import { Schedule } from './schedule.js'
import { SectionWriter } from './section-writer.js'

/** Body bytes of one flush: what one slab holds. More at once would only wait in the socket's own queue. */
const flushBytes = 4 * frameBytesMax
/** Bytes that wait for a full socket above which nothing more is read: who does not read may not make us write. */
const unreadBytesMax = 256 * 1024
/** A frame of a body that pays for the frames that answer it. */
const earningBytes = 1024
const pingPayload = Buffer.from('goodbye!')

/** The connection that an outbox sends for, on either side. */
export interface OutboxOwner {
  readonly eventMs: number
  /** Reads the clock anew. */
  tick(): number
  readonly limits: { readonly streamBufferBytes: number; readonly connectionBufferBytes: number }
  readonly armour: { earnControl(frames: number): void }
  /** The socket takes nothing more for now. */
  blocked(): void
}

/** The sending half of a connection. */
export class Outbox implements Flushable {
  /** What the peer lets us send on all streams together. */
  windowBytes = initialWindowBytes
  /** What it lets us send on a new stream (SETTINGS_INITIAL_WINDOW_SIZE). */
  initialWindowBytes = initialWindowBytes
  /** Bytes of bodies that were sent, on all streams together. */
  sentBytes = 0
  /** Since when the socket has taken nothing more; undefined while it does. */
  blockedSinceMs: number | undefined
  readonly #owner: OutboxOwner
  readonly #sections = new SectionWriter()
  readonly #socket: Socket
  #writer: FrameWriter | undefined
  #isScheduled = false
  #isClosed = false
  #queuedBytes = 0
  readonly #schedule = new Schedule()
  #ended: OutgoingStream[] = []
  #spare: OutgoingStream[] = []
  #paused: OutgoingStream[] = []

  constructor(owner: OutboxOwner, socket: Socket) {
    this.#owner = owner
    this.#socket = socket
  }

  /** A stream's share of memory: one frame for each once all together have too much. */
  get streamBoundBytes(): number {
    const { limits } = this.#owner
    return this.#queuedBytes < limits.connectionBufferBytes ? limits.streamBufferBytes : frameBytesMax
  }

  /** More waits for the socket than heads and windows should come to. */
  get isOverfull(): boolean {
    return this.#writer !== undefined && this.#writer.at > unreadBytesMax
  }

  /** A writer whose frames leave at the end of the turn. */
  get writer(): FrameWriter {
    this.#ask()
    this.#writer ??= FrameWriter.acquire()
    return this.#writer
  }

  /** Writes the head of a response; `none` closes our side of the stream. */
  head(streamId: number, head: ResponseHead, body: 'none' | 'follows'): void {
    if (!this.#isClosed) this.#sections.response(this.writer, streamId, head, body === 'none' ? Flag.endStream : 0)
  }

  /** Writes the head of a request; `none` closes our side of the stream. */
  requestHead(streamId: number, head: RequestHead, body: 'none' | 'follows'): void {
    if (!this.#isClosed) this.#sections.request(this.writer, streamId, head, body === 'none' ? Flag.endStream : 0)
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. */
  limitTable(bytes: number): void {
    this.#sections.limitTable(bytes)
  }

  rstStream(streamId: number, code: number): void {
    if (!this.#isClosed) this.writer.rstStream(streamId, code)
  }

  windowUpdate(streamId: number, increment: number): void {
    if (!this.#isClosed) this.writer.windowUpdate(streamId, increment)
  }

  /** What a client says first (RFC 9113 §3.4). */
  preface(): void {
    if (this.#isClosed) return
    const { writer } = this
    writer.reserve(preface.length)
    writer.copy(preface, 0, preface.length)
  }

  settings(settings: readonly number[]): void {
    if (!this.#isClosed) this.writer.settings(0, settings)
  }

  /** Tells what hosts the connection serves. */
  origins(payload: Buffer): void {
    const { writer } = this
    writer.reserve(frameHeadBytes + payload.length)
    writer.frameHead(payload.length, FrameType.origin, 0, 0)
    writer.copy(payload, 0, payload.length)
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
  queued(stream: OutgoingStream, bytes: number): void {
    this.#queuedBytes += bytes
    this.ready(stream)
  }

  /** A stream's bytes are not sent any more. */
  dropped(bytes: number): void {
    this.#queuedBytes -= bytes
  }

  /** A stream's source was told to stop. */
  paused(stream: OutgoingStream): void {
    this.#paused.push(stream)
  }

  /** A stream's END_STREAM is among what leaves next. */
  ended(stream: OutgoingStream): void {
    stream.isLocalEnded = true
    this.#ended.push(stream)
  }

  /** Gives a stream its turn, where it has something that may be sent. */
  ready(stream: OutgoingStream): void {
    if (stream.isReady || this.#isClosed || !this.#hasTurn(stream)) return
    this.#schedule.add(stream)
    this.#ask()
  }

  /** The client has changed its mind on a stream (RFC 9218 §7). */
  prioritize(stream: OutgoingStream, priority: Priority): void {
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
    this.#owner.tick()
    if (this.blockedSinceMs !== undefined) {
      // What piles up meanwhile is what the peer makes us say; when it is too much, we stop listening.
      if (this.isOverfull) this.#socket.pause()
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

  #hasTurn(stream: OutgoingStream): boolean {
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
  #writeFrame(stream: OutgoingStream, roomBytes: number): number {
    const { writer } = this
    const bytes =
      stream.queuedBytes === 0
        ? 0
        : Math.min(roomBytes, frameBytesMax, stream.queuedBytes, stream.sendWindowBytes, this.windowBytes)
    const isEnd = stream.isSourceEnded && bytes === stream.queuedBytes
    const flags = isEnd && stream.trailers === undefined ? Flag.endStream : 0
    if (bytes > 0 || flags !== 0) this.#writeData(writer, stream, bytes, flags)
    if (!isEnd) return bytes
    if (stream.trailers !== undefined) this.#sections.trailers(writer, stream.id, stream.trailers)
    this.ended(stream)
    return bytes
  }

  #writeData(writer: FrameWriter, stream: OutgoingStream, bytes: number, flags: number): void {
    writer.reserve(frameHeadBytes + bytes)
    writer.frameHead(bytes, FrameType.data, flags, stream.id)
    stream.fill(writer, bytes)
    this.windowBytes -= bytes
    this.sentBytes += bytes
    this.#queuedBytes -= bytes
    // What we send is answered by WINDOW_UPDATEs, one for the stream and one for the connection; but a window that is
    // opened byte by byte earns nothing.
    if (bytes >= earningBytes || stream.queuedBytes === 0) this.#owner.armour.earnControl(2)
  }

  /** One write for all that the turn brought; then the streams whose last byte was in it hear of it. */
  #send(): void {
    const writer = this.#writer
    if (writer === undefined) return
    this.#writer = undefined
    if (!writer.send(this.#socket)) {
      this.blockedSinceMs ??= this.#owner.eventMs
      this.#owner.blocked()
    }
    if (this.#ended.length === 0) return
    const ended = this.#ended
    this.#ended = this.#spare
    for (let index = 0; index < ended.length; index++) (ended[index] as OutgoingStream).sent()
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
