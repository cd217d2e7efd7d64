// What an endpoint says on one connection: heads answer the streams that we have opened, trailers end them (RFC 9113 §8).
// Used by the inbox; never writes to the socket.
import { Failure } from '../wire/failure.js'
import { reasonPhrase } from '../wire/status.js'
import { dropKnownFields } from '../wire/trailer-fields.js'
import type { ClientStream } from './client-stream.js'
import type { FieldSection, SectionKind } from './field-section.js'
import { ErrorCode, Flag } from './frames.js'
import type { MessageConsumer } from './inbox.js'
import { bodyBytesOf } from './request-head.js'
import { responseFault, statusOf } from './response-head.js'
import type { ClientSession } from './session.js'
import { trailersFault } from './trailers.js'

/** Takes the messages of an endpoint on one connection. */
export class ResponseIntake implements MessageConsumer {
  readonly #session: ClientSession

  constructor(session: ClientSession) {
    this.#session = session
  }

  kindOf(streamId: number): SectionKind {
    return this.#session.streams.get(streamId)?.isAnswered === true ? 'trailers' : 'response'
  }

  onSection(section: FieldSection, streamId: number, flags: number, dependsOnItself: boolean): void {
    const stream = this.#session.streams.get(streamId)
    if (stream === undefined) return this.#lateHeaders(streamId)
    if (stream.isRemoteEnded) return this.#fault(streamId, ErrorCode.streamClosed, 'HEADERS behind the end')
    if (dependsOnItself) return this.#fault(streamId, ErrorCode.protocolError, 'a stream that depends on itself')
    if (stream.isAnswered) this.#trailers(stream, section, flags)
    else this.#head(stream, section, flags)
  }

  /** What was on its way when a stream was reset is no fault; but only the last streams are remembered. */
  onLateData(streamId: number): void {
    const state = this.#session.streams.stateOf(streamId)
    if (state === 'idle') this.#fail(ErrorCode.protocolError, 'DATA on an idle stream')
    if (state === 'closed') this.#fail(ErrorCode.streamClosed, 'DATA on a stream that has ended')
  }

  #lateHeaders(streamId: number): void {
    const { armour, blame, eventMs, resets, streams } = this.#session
    const state = streams.stateOf(streamId)
    if (state === 'idle') return this.#fail(ErrorCode.protocolError, 'HEADERS on an idle stream')
    if (state === 'closed') return this.#fail(ErrorCode.streamClosed, 'HEADERS on a stream that has ended')
    if (resets.takesLate() || armour.takesControl(eventMs)) return
    this.#session.fail(ErrorCode.enhanceYourCalm, new Failure(blame.flood, 'HEADERS on streams that were reset'))
  }

  #head(stream: ClientStream, section: FieldSection, flags: number): void {
    const body = flags & Flag.endStream ? 'none' : 'follows'
    const status = statusOf(section)
    const bodyBytes = bodyBytesOf(section)
    const fault = responseFault(section, { method: stream.method, status, bodyBytes, body })
    if (fault !== undefined) return this.#fault(stream.id, ErrorCode.protocolError, fault)
    // HTTP/2 carries no phrase; some clients of HTTP/1 do not recognise an answer without one.
    const head = { status, reason: reasonPhrase(status), headers: section.block }
    if (status < 200) return stream.inform(head)
    this.#session.armour.earnControl(3)
    stream.answer(head, body, bodyBytes)
  }

  #trailers(stream: ClientStream, section: FieldSection, flags: number): void {
    // RFC 9113 §8.5: nothing but DATA stands on the stream of a CONNECT.
    const fault = stream.isTunnel ? 'HEADERS in a tunnel' : trailersFault(stream, section, flags)
    if (fault !== undefined) return this.#fault(stream.id, ErrorCode.protocolError, fault)
    dropKnownFields(section.block)
    stream.endRemote(section.block)
  }

  #fault(streamId: number, code: number, reason: string): void {
    this.#session.fault(streamId, code, new Failure(this.#session.blame.body, reason))
  }

  #fail(code: number, reason: string): void {
    this.#session.fail(code, new Failure(this.#session.blame.protocol, reason))
  }
}
