// The upstream's side of one exchange, on any wire: one attempt at one endpoint. Forwarding sends through it and hears
// from it; it knows neither sites nor clients.
import type { BodySource } from './body.js'
import type { ResponseHead } from './downstream.js'
import type { Failure } from './failure.js'

/** A request as it leaves for an endpoint. */
export interface OutgoingRequest {
  readonly method: string
  /** The whole head, ready for HTTP/1; kept until the answer begins, so that it can be sent again. */
  readonly head: Buffer
  readonly body: BodySource | undefined
}

/** Hears of one attempt: any number of informational heads, then one response or one failure. */
export interface AttemptObserver {
  onInformational(head: ResponseHead): void
  /** The final head; `body` is undefined where the response has none. A later failure reaches the body's sink. */
  onResponse(head: ResponseHead, body: BodySource | undefined): void
  /** No response will come. */
  onFailure(failure: Failure): void
}

/** One attempt at one endpoint. */
export interface Attempt {
  /** Ends it at once; its observer hears nothing more, and the connection is not used again. */
  cancel(): void
}
