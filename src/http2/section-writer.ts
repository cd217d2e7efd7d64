// Writes field sections as HEADERS frames, and CONTINUATION where one is larger than a frame (RFC 9113 §4.3). Used by the
// outbox; one for each connection, since the encoder's table follows every section in the order sent.
import type { ResponseHead } from '../wire/downstream.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { FrameWriter } from './frame-writer.js'
import { Flag, FrameType, frameBytesMax, frameHeadBytes } from './frames.js'
import { HpackEncoder, type RequestHead } from './hpack-encoder.js'

/** Writes the sections of one direction of one connection; `endFlag` is END_STREAM or 0. */
export class SectionWriter {
  readonly #encoder = new HpackEncoder()

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. */
  limitTable(bytes: number): void {
    this.#encoder.limit(bytes)
  }

  // Plain parameters: an object for each head would be one more to collect.
  response(writer: FrameWriter, streamId: number, head: ResponseHead, endFlag: number): void {
    const headAt = openFrame(writer)
    this.#encoder.encodeResponse(writer, head.status, head.headers)
    closeFrame(writer, headAt, streamId, endFlag)
  }

  request(writer: FrameWriter, streamId: number, head: RequestHead, endFlag: number): void {
    const headAt = openFrame(writer)
    this.#encoder.encodeRequest(writer, head)
    closeFrame(writer, headAt, streamId, endFlag)
  }

  /** Trailers always end their stream. */
  trailers(writer: FrameWriter, streamId: number, trailers: HeaderBlock): void {
    const headAt = openFrame(writer)
    this.#encoder.encodeTrailers(writer, trailers)
    closeFrame(writer, headAt, streamId, Flag.endStream)
  }
}

/** Leaves room for the head of a frame, and returns where. */
function openFrame(writer: FrameWriter): number {
  writer.reserve(frameHeadBytes)
  const headAt = writer.at
  writer.at += frameHeadBytes
  return headAt
}

/** Puts the frame head before a section that was written behind room for it. */
function closeFrame(writer: FrameWriter, headAt: number, streamId: number, endFlag: number): void {
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
