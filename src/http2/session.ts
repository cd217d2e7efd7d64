// What the parts of one HTTP/2 connection see of the whole: what both sides share, and what the server's parts see beyond it.
// Implemented by the connections; keeps streams, inbox and outbox from knowing each other's insides.
import type { ClientTimeouts } from '../wire/client-connection.js'
import type { Connection } from '../wire/connection.js'
import type { RequestService, WireLimits } from '../wire/downstream.js'
import type { Failure, FailureCode } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { Armour, ControlBudget } from './armour.js'
import type { ClientStream } from './client-stream.js'
import type { SectionLimits } from './field-section.js'
import type { WindowPool } from './flow-control.js'
import type { Http2Limits } from './limits.js'
import type { Outbox } from './outbox.js'
import type { OutgoingStream } from './outgoing-stream.js'
import type { PacedResets } from './paced-resets.js'
import type { ReceivedBody } from './received-body.js'
import type { Http2Stream } from './stream.js'
import type { StreamTable } from './stream-table.js'

/** A stream as the frames that come see it. */
export interface ReceivingStream extends OutgoingStream {
  /** What comes; undefined where nothing may. */
  readonly body: ReceivedBody | undefined
  bytesReceived: number
  /** The peer has sent its END_STREAM. */
  readonly isRemoteEnded: boolean
  /** The peer's END_STREAM has come; trailers are lent. */
  endRemote(trailers: HeaderBlock | undefined): void
}

/** The codes of failures that are the peer's doing: a client's on one side, an endpoint's on the other. */
export interface Blame {
  readonly protocol: FailureCode
  readonly body: FailureCode
  readonly flood: FailureCode
}

/** The bounds that both sides have. */
export type WireBounds = Omit<Http2Limits, 'resetBurst' | 'resetsPerSecond' | 'faultBurst' | 'faultsPerSecond'> &
  SectionLimits

/** One connection as the parts see it that both sides share. */
export interface FrameSession<Stream extends ReceivingStream = ReceivingStream> {
  readonly outbox: Outbox
  readonly streams: StreamTable<Stream>
  readonly armour: ControlBudget
  readonly pool: WindowPool
  /** Who is at the other end: a client, or the server that an endpoint is. */
  readonly peer: 'client' | 'server'
  readonly blame: Blame
  readonly limits: WireBounds
  /** The clock as of the event that is being handled: asking it for each frame would cost more than most frames. */
  readonly eventMs: number
  /** Reads the clock anew. */
  tick(): number
  /** A stream error of the peer's making (RFC 9113 §5.4.2), counted. */
  fault(streamId: number, code: number, failure: Failure): void
  /** A connection error (RFC 9113 §5.4.1): says why, ends everything. */
  fail(code: number, failure: Failure): void
  /** The socket takes nothing more for now. */
  blocked(): void
  /** The peer announced a setting that is sound. */
  announced(id: number, value: number): void
  /** All settings of a frame were announced. */
  settled(): void
  /** The peer acknowledged a PING of ours. */
  pinged(): void
  /** The peer reset a stream; undefined where that is no longer open. False is a flood. */
  wasReset(stream: Stream | undefined, code: number): boolean
  /** The peer sent GOAWAY; `text` is its debug data. */
  left(lastStreamId: number, code: number, text: string): void
}

/** A server's connection from the inside. */
export interface Session extends FrameSession<Http2Stream> {
  readonly connection: Connection
  readonly service: RequestService
  readonly limits: WireLimits & Http2Limits
  readonly armour: Armour
  /** A stream was opened. */
  opened(stream: Http2Stream): void
  /** A stream is done: forgotten, and its windows given back. */
  closed(stream: Http2Stream): void
  /** Says goodbye; what is in flight ends. */
  drain(): void
  /** Whether a new stream is still taken. */
  readonly isTaking: boolean
  /** Answers a stream with the status of a failure, and tells the service. */
  refuse(stream: Http2Stream, failure: Failure): void
}

/** A connection to an endpoint from the inside. */
export interface ClientSession extends FrameSession<ClientStream> {
  readonly timeouts: ClientTimeouts
  /** What tells the endpoint that streams are given up. */
  readonly resets: PacedResets
  /** A stream is done: forgotten, and its windows given back. */
  closed(stream: ClientStream): void
  /** The endpoint has answered with a final head. */
  answered(status: number): void
  /** An attempt failed, and not by the client's doing. */
  failed(failure: Failure): void
}
