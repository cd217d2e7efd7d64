// Answers that Hostward makes itself: fixed bodies, redirects, and what a failure says. Used by the handler and by forwarding;
// a failure tells its code and the request's id, never our insides.
import type { BodySink, BodySource } from '../wire/body.js'
import type { ResponseHead } from '../wire/downstream.js'
import type { Failure } from '../wire/failure.js'
import { HeaderBlock } from '../wire/header-block.js'
import { isBodiless, reasonPhrase } from '../wire/status.js'

/** A head and its body, ready for `Downstream.respond`. */
export interface Answer {
  readonly head: ResponseHead
  readonly body: BodySource | undefined
}

/** A body that is all there. */
class FixedBody implements BodySource {
  readonly lengthBytes: number
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.lengthBytes = bytes.length
  }

  flow(sink: BodySink): void {
    if (this.#bytes.length > 0) sink.write(this.#bytes)
    sink.end(undefined)
  }

  resume(): void {
    // All of it was given at once.
  }

  abort(): void {
    // Nothing is held.
  }
}

/** A body of fixed bytes; a HEAD gets the head that the GET would get. */
export function fixedAnswer(what: { status: number; contentType: string; body: Buffer; method: string }): Answer {
  const headers = new HeaderBlock()
  if (isBodiless(what.status)) return { head: headOf(what.status, headers), body: undefined }
  headers.add('content-type', what.contentType)
  headers.add('content-length', String(what.body.length))
  return { head: headOf(what.status, headers), body: what.method === 'HEAD' ? undefined : new FixedBody(what.body) }
}

/** Sends the client to `location`. */
export function redirectAnswer(status: number, location: string): Answer {
  const headers = new HeaderBlock()
  headers.add('location', location)
  headers.add('content-length', '0')
  return { head: headOf(status, headers), body: undefined }
}

/** What a client gets for a failure. */
export function failureAnswer(failure: Failure, request: { method: string; requestId: string }): Answer {
  const body = Buffer.from(`${failure.status} ${failure.code} ${request.requestId}\n`)
  const answer = fixedAnswer({ status: failure.status, contentType: 'text/plain', body, method: request.method })
  answer.head.headers.add('x-request-id', request.requestId)
  answer.head.headers.add('cache-control', 'no-store')
  // RFC 9112 §2.2, §3.2: who sends a malformed request may mean something else by what follows it.
  return failure.status === 400 ? { ...answer, head: { ...answer.head, isLast: true } } : answer
}

function headOf(status: number, headers: HeaderBlock): ResponseHead {
  return { status, reason: reasonPhrase(status), headers }
}
