// Takes the frames that carry a field section (RFC 9113 §4.3, §6.2, §6.10) and hands on what HPACK makes of them. Used by
// the inbox of either side; bounded in bytes and in frames.
import { Failure } from '../wire/failure.js'
import { FieldSection, type SectionKind } from './field-section.js'
import { ErrorCode, Flag, readUint31 } from './frames.js'
import { HpackDecoder } from './hpack-decoder.js'
import { SectionAssembler } from './section-assembler.js'
import type { FrameSession } from './session.js'

/** One for the process: a section is read before the next one comes, on whatever connection. */
const section = new FieldSection()

/** Whom sections are for. */
export interface SectionConsumer {
  /** Which fields may stand in the section that has come on a stream. */
  kindOf(streamId: number): SectionKind
  /** A whole section has come; it is lent. `flags` are those of its HEADERS frame. */
  onSection(section: FieldSection, streamId: number, flags: number, dependsOnItself: boolean): void
}

/** The field sections that come on one connection. */
export class SectionIntake {
  readonly #session: FrameSession
  readonly #consumer: SectionConsumer
  readonly #assembler = new SectionAssembler()
  readonly #decoder = new HpackDecoder()

  constructor(session: FrameSession, consumer: SectionConsumer) {
    this.#session = session
    this.#consumer = consumer
  }

  /** A section has begun and is not whole: no other frame may come in between. */
  get isOpen(): boolean {
    return this.#assembler.streamId !== 0
  }

  headers(flags: number, streamId: number, bytes: Buffer, from: number, to: number): void {
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
    this.#assembler.open(streamId, flags, dependsOnItself)
    if (flags & Flag.endHeaders) this.#whole(bytes, start + priority, end)
    else this.#collect(bytes, start + priority, end)
  }

  continuation(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const assembler = this.#assembler
    if (streamId === 0 || streamId !== assembler.streamId) {
      return this.#fail(ErrorCode.protocolError, 'CONTINUATION without a field section')
    }
    if (!this.#collect(bytes, start, end) || !(flags & Flag.endHeaders)) return
    this.#whole(assembler.bytes, 0, assembler.length)
  }

  #collect(bytes: Buffer, start: number, end: number): boolean {
    const assembler = this.#assembler
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

  /** HPACK first, whatever becomes of the section: the tables of both sides must stay the same. */
  #whole(bytes: Buffer, start: number, end: number): void {
    const assembler = this.#assembler
    const { streamId, flags, dependsOnItself } = assembler
    section.begin(this.#consumer.kindOf(streamId), end - start, this.#session.limits)
    const isSound = this.#decoder.decode(bytes, start, end, section)
    assembler.close()
    if (isSound) this.#consumer.onSection(section, streamId, flags, dependsOnItself)
    else this.#fail(ErrorCode.compressionError, 'HPACK')
  }

  #flood(reason: string): void {
    this.#session.fail(ErrorCode.enhanceYourCalm, new Failure(this.#session.blame.flood, reason))
  }

  #fail(code: number, reason: string): void {
    this.#session.fail(code, new Failure(this.#session.blame.protocol, reason))
  }
}
