// One established connection to an endpoint, as its pool sees it on any wire: a codec takes the transport and requests.
// HTTP/1 and HTTP/2 implement it; the endpoint owns it.
import type { Socket } from 'node:net'
import type { Attempt, AttemptObserver, OutgoingRequest } from './attempt.js'
import type { Failure } from './failure.js'

/** A connected socket, TLS included, on which nothing has been said yet. Whoever takes it closes it. */
export interface Transport {
  readonly socket: Socket
  /** Takes every chunk that is read; nobody changes one afterwards. Set by the codec before it returns to the loop. */
  onBytes: (chunk: Buffer) => void
}

/** One connection to an endpoint in the hands of a codec. */
export interface ClientConnection {
  /** Requests that it can take now: 0 or 1 on HTTP/1, the peer's limit on HTTP/2. */
  readonly capacity: number
  /** Requests in flight. */
  readonly active: number
  /** Sends a request; only where there is capacity. */
  send(request: OutgoingRequest, observer: AttemptObserver): Attempt
  /** Takes nothing new, ends what is in flight, then closes. */
  drain(): void
  /** Ends everything now. */
  destroy(): void
}

/** Hears of the connections that it owns. */
export interface ClientConnectionOwner {
  /** Something has ended, and there is capacity for more. */
  onAvailable(connection: ClientConnection): void
  /** It takes no more requests; told once, at the latest when it has closed. */
  onClosed(connection: ClientConnection): void
  /** An endpoint has answered with a final head. */
  onAnswered(status: number): void
  /** An attempt failed, and not by the client's doing. */
  onFailed(failure: Failure): void
}

/** Waits on an endpoint whose connection stands, in milliseconds. */
export interface ClientTimeouts {
  /** From the last byte of the request to the first of the answer. */
  readonly responseMs: number
  /** Without a byte of a body moving, either way. */
  readonly bodyIdleMs: number
  /** Unused in the pool; an endpoint's shorter Keep-Alive hint wins. */
  readonly idleMs: number
  /** Without a byte moving through a tunnel, either way. */
  readonly tunnelIdleMs: number
}
