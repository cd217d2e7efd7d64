// What clients say on one connection: heads open streams and are judged, trailers end them (RFC 9113 §8). Used by the inbox;
// never writes to the socket.
import { Failure } from '../wire/failure.js'
import { dropKnownFields } from '../wire/trailer-fields.js'
import type { FieldSection, SectionKind } from './field-section.js'
import { ErrorCode, Flag } from './frames.js'
import type { MessageConsumer } from './inbox.js'
import { ReceivedBody } from './received-body.js'
import { report } from './refusals.js'
import { bodyBytesOf, faultOf, priorityOf, refusalOf, requestOf } from './request-head.js'
import type { Session } from './session.js'
import { Http2Stream } from './stream.js'
import { trailersFault } from './trailers.js'

/** Takes the messages of clients on one connection. */
export class RequestIntake implements MessageConsumer {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  kindOf(streamId: number): SectionKind {
    return this.#session.streams.get(streamId) === undefined ? 'request' : 'trailers'
  }

  onSection(section: FieldSection, streamId: number, flags: number, dependsOnItself: boolean): void {
    const { streams } = this.#session
    const stream = streams.get(streamId)
    const flaw = dependsOnItself ? 'a stream that depends on itself' : undefined
    if (stream !== undefined) this.#trailers(stream, section, flags, flaw)
    else if (streamId > streams.lastId) this.#request(streamId, section, flags, flaw)
    else this.#lateHeaders(streamId)
  }

  onLateData(streamId: number): void {
    const state = this.#session.streams.stateOf(streamId)
    if (state === 'idle') this.#fail(ErrorCode.protocolError, 'DATA on an idle stream')
    if (state === 'closed' || state === 'skipped') {
      this.#fault(streamId, ErrorCode.streamClosed, new Failure('bad_body', 'DATA on a closed stream'))
    }
  }

  #trailers(stream: Http2Stream, section: FieldSection, flags: number, flaw: string | undefined) {
    if (stream.isRemoteEnded) {
      return this.#fault(stream.id, ErrorCode.streamClosed, new Failure('bad_body', 'HEADERS behind the end'))
    }
    if (stream.request.upgrade !== undefined) {
      // RFC 9113 §8.5: nothing but DATA stands on the stream of a CONNECT.
      return this.#fault(stream.id, ErrorCode.protocolError, new Failure('bad_body', 'HEADERS in a tunnel'))
    }
    const reason = flaw ?? trailersFault(stream, section, flags)
    if (reason !== undefined) {
      return this.#fault(stream.id, ErrorCode.protocolError, new Failure('bad_body', reason))
    }
    dropKnownFields(section.block)
    stream.endRemote(section.block)
  }

  #lateHeaders(streamId: number) {
    const state = this.#session.streams.stateOf(streamId)
    if (state === 'reset_here' && this.#session.armour.takesControl(this.#session.eventMs)) return
    if (state === 'reset_here') return this.#flood('HEADERS on streams that were reset')
    const code = state === 'closed' ? ErrorCode.streamClosed : ErrorCode.protocolError
    this.#fail(code, 'HEADERS on a stream that has ended')
  }

  #request(streamId: number, section: FieldSection, flags: number, flaw: string | undefined) {
    const session = this.#session
    const { streams, limits } = session
    streams.lastId = streamId
    const body = flags & Flag.endStream ? 'none' : 'follows'
    const bodyBytes = bodyBytesOf(section)
    const fault = flaw === undefined ? faultOf(section, bodyBytes, body) : new Failure('bad_request', flaw)
    if (fault !== undefined) return this.#refuseMalformed(streamId, section, fault)
    if (!session.isTaking || streams.size >= limits.concurrentStreams) return this.#refuseStream(streamId)
    session.armour.earnControl(3)
    const stream = this.#open(streamId, section, body, bodyBytes)
    const refusal = refusalOf(section, limits)
    if (refusal !== undefined) session.refuse(stream, refusal)
    else session.service.handle(stream)
  }

  #open(streamId: number, section: FieldSection, framing: 'none' | 'follows', bodyBytes: number): Http2Stream {
    const session = this.#session
    if (section.hasCrumbs && !section.isTooLarge) section.joinCookies()
    const isTunnel = section.protocol !== undefined
    const body = framing === 'none' && !isTunnel ? undefined : new ReceivedBody(session, streamId, bodyBytes)
    const stream = new Http2Stream(session, {
      id: streamId,
      // What a tunnel carries is no body: nothing is framed, and nobody waits for its end.
      request: requestOf(section, isTunnel ? undefined : body),
      body,
      priority: session.streams.takeForetold(streamId) ?? priorityOf(section),
      sendWindowBytes: session.outbox.initialWindowBytes,
    })
    session.opened(stream)
    if (framing === 'none') stream.endRemote(undefined)
    return stream
  }

  #refuseMalformed(streamId: number, section: FieldSection, failure: Failure): void {
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
