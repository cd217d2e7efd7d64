// The upstream's side of one exchange, on any wire: one attempt at one endpoint. Forwarding sends through it and hears
// from it; it knows neither sites nor clients.
import type { BodySource } from './body.js'
import type { ResponseHead } from './downstream.js'
import type { Failure } from './failure.js'
import type { HeaderBlock } from './header-block.js'

/** A request as it leaves for an endpoint; kept until the answer begins, so that it can be sent again. */
export interface OutgoingRequest {
  readonly method: string
  /** Its head as HTTP/1 writes it, whole. */
  readonly head: Buffer
  /** Its head as HTTP/2 encodes it; undefined where the upstream speaks HTTP/1 alone. */
  readonly fields: OutgoingFields | undefined
  readonly body: BodySource | undefined
  /** The protocol that the client wants to switch to, in lower case; the answer may be a tunnel. */
  readonly upgrade: string | undefined
}

/** The head of a request in the parts that HTTP/2 has (RFC 9113 §8.3.1). */
export interface OutgoingFields {
  readonly scheme: 'http' | 'https'
  readonly authority: string
  readonly path: string
  /** Without Host, framing and connection-specific lines; a copy of our own. */
  readonly headers: HeaderBlock
}

/** The two directions of a connection that has switched protocols. */
export interface Tunnel {
  /** What the endpoint sends; its end is the end of the tunnel. */
  readonly source: BodySource
  /** Lets what the client sends flow to the endpoint. Its end is carried on: a client may have said all and still listen. */
  carry(source: BodySource): void
}

/** Hears of one attempt: any number of informational heads, then one response, one tunnel or one failure. */
export interface AttemptObserver {
  onInformational(head: ResponseHead): void
  /** The final head; `body` is undefined where the response has none. A later failure reaches the body's sink. */
  onResponse(head: ResponseHead, body: BodySource | undefined): void
  /** The endpoint has switched to the protocol that the request asked for. */
  onUpgrade(head: ResponseHead, tunnel: Tunnel): void
  /** No response will come. */
  onFailure(failure: Failure): void
}

/** One attempt at one endpoint. */
export interface Attempt {
  /** Ends it at once; its observer hears nothing more. */
  cancel(): void
}
