// What the parts of one HTTP/2 connection see of the whole. Implemented by the connection; keeps streams, inbox and
// outbox from knowing each other's insides.
import type { Connection } from '../wire/connection.js'
import type { RequestService, WireLimits } from '../wire/downstream.js'
import type { Failure } from '../wire/failure.js'
import type { Armour } from './armour.js'
import type { WindowPool } from './flow-control.js'
import type { Http2Limits } from './limits.js'
import type { Outbox } from './outbox.js'
import type { Http2Stream } from './stream.js'
import type { StreamTable } from './stream-table.js'

/** One HTTP/2 connection from the inside. */
export interface Session {
  readonly connection: Connection
  readonly service: RequestService
  readonly outbox: Outbox
  readonly streams: StreamTable
  readonly armour: Armour
  readonly pool: WindowPool
  /** The clock as of the event that is being handled: asking it for each frame would cost more than most frames. */
  readonly eventMs: number
  /** Reads the clock anew. */
  tick(): number
  readonly limits: WireLimits & Http2Limits
  /** A stream was opened. */
  opened(stream: Http2Stream): void
  /** A stream is done: forgotten, and its windows given back. */
  closed(stream: Http2Stream): void
  /** Whether a new stream is still taken. */
  readonly isTaking: boolean
  /** Answers a stream with the status of a failure, and tells the service. */
  refuse(stream: Http2Stream, failure: Failure): void
  /** A stream error of the client's making (RFC 9113 §5.4.2), counted. */
  fault(streamId: number, code: number, failure: Failure): void
  /** A connection error (RFC 9113 §5.4.1): says why, ends everything. */
  fail(code: number, failure: Failure): void
  /** The socket takes nothing more for now. */
  blocked(): void
  /** The client acknowledged a PING of ours. */
  pinged(): void
  /** The client sent GOAWAY: it opens no more streams. */
  left(): void
}
