// Answers that Hostward makes itself: fixed bodies, redirects, and what a failure says. Used by the handler and by forwarding;
// a failure tells its code and the request's id, never our insides.
import type { BodySink, BodySource } from '../wire/body.js'
import type { ResponseHead } from '../wire/downstream.js'
import type { Failure } from '../wire/failure.js'
import { HeaderBlock } from '../wire/header-block.js'
import { isBodiless, reasonPhrase } from '../wire/status.js'
import type { ErrorPage, VirtualHost } from './routing.js'

/** What the answer to a failure depends on. */
interface FailedExchange {
  readonly method: string
  readonly requestId: string
  readonly site: VirtualHost | undefined
  /** Whether the connection is of no more use. */
  readonly isConnectionStale: boolean
}

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

/** Seconds after which a client may try again where no endpoint could take its request. */
const retryAfterSeconds = '5'

/** What a client gets for a failure: the site's own page where it has one, with our lines. */
export function failureAnswer(failure: Failure, exchange: FailedExchange): Answer {
  const { status } = failure
  const page = exchange.site?.errorPages?.get(status) ?? plainPage(failure, exchange.requestId)
  const answer = fixedAnswer({ status, ...page, method: exchange.method })
  const { headers } = answer.head
  headers.add('x-request-id', exchange.requestId)
  headers.add('cache-control', 'no-store')
  // No endpoint is available, or all are busy.
  if (status === 503 && failure.side === 'upstream') headers.add('retry-after', retryAfterSeconds)
  if (exchange.isConnectionStale) return { ...answer, head: { ...answer.head, endsConnection: true } }
  // RFC 9112 §2.2, §3.2: who sends a malformed request may mean something else by what follows it.
  return status === 400 ? { ...answer, head: { ...answer.head, isLast: true } } : answer
}

function plainPage(failure: Failure, requestId: string): ErrorPage {
  return { contentType: 'text/plain', body: Buffer.from(`${failure.status} ${failure.code} ${requestId}\n`) }
}

function headOf(status: number, headers: HeaderBlock): ResponseHead {
  return { status, reason: reasonPhrase(status), headers }
}
