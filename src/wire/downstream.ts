// The client's side of one exchange, on any wire: what a codec hands to the request handler and what it takes back.
// HTTP/1 and HTTP/2 implement it; everything above is written once.
import type { Socket } from 'node:net'
import type { BodySource } from './body.js'
import type { Connection } from './connection.js'
import type { Failure } from './failure.js'
import type { HeaderBlock } from './header-block.js'

/** One request, its head parsed and its framing already proved. */
export interface Request {
  readonly protocol: 'http/1.0' | 'http/1.1' | 'h2'
  readonly method: string
  /** Origin-form or `*`, byte for byte as it came (latin1); an absolute-form is already cut to its origin-form. */
  readonly target: string
  /** What `:authority` or an absolute-form names, as it came; undefined where only Host lines can tell. */
  readonly authority: string | undefined
  /** Without pseudo-headers. Lent: valid until the handler returns. */
  readonly headers: HeaderBlock
  /** Undefined where the request has none. */
  readonly body: BodySource | undefined
  /**
   * The protocol that the client wants to switch to, in lower case: of an Upgrade line (RFC 9110 §7.8), or of an extended
   * CONNECT (RFC 8441), whose method is `CONNECT`. Undefined where it asks for none, or has a body.
   */
  readonly upgrade: string | undefined
  /** The client waits for a 100 before it sends the body (RFC 9110 §10.1.1). */
  readonly expectsContinue: boolean
}

/** The head of a final or informational response. */
export interface ResponseHead {
  readonly status: number
  /** Reason phrase (latin1), empty where there is none; HTTP/2 has no place for it. */
  readonly reason: string
  /** Lent: valid during the call that gets it. Without connection-specific lines. */
  readonly headers: HeaderBlock
  /** What the client sent cannot be trusted any further: HTTP/1 ends the connection with this response. */
  readonly isLast?: boolean
  /** Another connection would do better: HTTP/1 ends this one with the response, HTTP/2 says goodbye and ends what is in flight. */
  readonly endsConnection?: boolean
}

/** The client's side of one exchange. Its methods never throw for what a peer did. */
export interface Downstream {
  readonly connection: Connection
  readonly request: Request
  /** Hears how the exchange ends; set by the handler before anything else. */
  observer: ExchangeObserver
  /** Bytes of the request's body that have come so far. */
  readonly bytesReceived: number
  /** Bytes of the response's body that have been sent so far. */
  readonly bytesSent: number
  /** Sends an informational head (100, 102, 103); ignored where the wire cannot carry it. */
  inform(head: ResponseHead): void
  /** Sends the final head and lets `body` flow; undefined is a response without a body. Called once. */
  respond(head: ResponseHead, body: BodySource | undefined): void
  /**
   * Switches to the protocol that the request asked for: sends the head (101, or 200 on HTTP/2), lets `source` flow to the
   * client and returns what the client sends. In place of `respond`. The exchange ends with `source`; the client's end is
   * only the end of what it sends. No idle timer runs on this side.
   */
  switchProtocols(head: ResponseHead, source: BodySource): BodySource
  /** Ends an exchange that cannot be answered, visibly: a broken body or a reset, never a complete one. */
  reset(failure: Failure): void
}

/** Hears the end of an exchange from the client's side: exactly one of the two, once. */
export interface ExchangeObserver {
  /** The response has left whole. */
  onSent(): void
  /** The exchange ended before the response was whole: the client left, or stalled, or the server ends. */
  onBroken(failure: Failure): void
}

/** What a codec could not parse, answered by the codec itself. */
export interface Refusal {
  readonly connection: Connection
  readonly protocol: 'http/1.1' | 'h2' | null
  /** The status that was sent, null where the connection was only closed. */
  readonly status: number | null
  readonly failure: Failure
  /** What could be read of the request, for the log. */
  readonly method: string | null
  readonly target: string | null
  readonly host: string | null
}

/** What stands behind a listener: takes every request of every wire. */
export interface RequestService {
  /** Takes one exchange. Never throws. */
  handle(downstream: Downstream): void
  /** Hears of what a codec refused. */
  refused(refusal: Refusal): void
}

/** What a codec serves a connection with. Limits and timeouts are asked for anew, so that a reload reaches it. */
export interface ServingOptions<Limits extends WireLimits = WireLimits> {
  /** Decrypted, with nothing read from it; the codec closes it. */
  readonly socket: Socket
  readonly connection: Connection
  readonly service: RequestService
  readonly limits: () => Limits
  readonly timeouts: () => WireTimeouts
}

/** One connection in the hands of a codec. */
export interface ServedConnection {
  /** Requests seen so far. */
  readonly requests: number
  /** Says goodbye: what is in flight ends, then the connection closes. */
  drain(): void
  /** Ends everything now. */
  destroy(): void
}

/** Limits that a codec enforces, as the configuration has them at the moment. */
export interface WireLimits {
  readonly headerBytes: number
  readonly headerCount: number
  readonly targetBytes: number
  readonly pipelined: number
  /** Averaged over `bodyIdleMs`; what a client moves of a body at least while it alone is waited for. */
  readonly bodyBytesPerSecondMin: number
}

/** Waits that a codec bounds, in milliseconds. */
export interface WireTimeouts {
  /** From the first byte of a head to its last. */
  readonly headersMs: number
  /** Without a byte of a body moving, either way. */
  readonly bodyIdleMs: number
  /** Between requests. */
  readonly idleMs: number
}
