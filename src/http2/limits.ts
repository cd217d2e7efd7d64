// The bounds of one HTTP/2 connection, each with its default in sight. Budgets, the pool and what SETTINGS announce are
// fixed when a connection opens; all others are read anew when they are needed, so that a reload reaches open ones.
import type { WireLimits } from '../wire/downstream.js'
import { Setting } from './frames.js'

/** What one HTTP/2 connection may cost. Budgets refill with time: a burst, and so many a second. */
export interface Http2Limits {
  /** Streams open at once, as announced; one more is refused (REFUSED_STREAM) and is a fault. */
  readonly concurrentStreams: number
  /** Compressed bytes of one field section over all its frames; above, the connection ends. */
  readonly sectionBytes: number
  /** CONTINUATION frames of one field section. */
  readonly continuationFrames: number
  /** Streams that the client resets before they are answered (rapid reset, CVE-2023-44487). */
  readonly resetBurst: number
  readonly resetsPerSecond: number
  /** Stream errors that the client makes us answer with a reset (MadeYouReset, CVE-2025-8671). */
  readonly faultBurst: number
  readonly faultsPerSecond: number
  /** Frames that carry nothing: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, unknown and empty ones. Requests and bodies earn some. */
  readonly controlBurst: number
  readonly controlPerSecond: number
  /** What a stream may send before it is given more; what a request that nobody reads costs at most. */
  readonly streamWindowBytes: number
  /** What a stream's window grows to while its body is taken as fast as it comes: 1 MiB over 50 ms is 20 MiB/s. */
  readonly streamWindowBytesMax: number
  /** What all streams together may have beyond their first windows. */
  readonly windowPoolBytes: number
  /** What all streams together may have on the way; given back on arrival, so that no stream holds up another. */
  readonly connectionWindowBytes: number
  /** Response bytes that wait on one stream before its source is told to stop. */
  readonly streamBufferBytes: number
  /** Response bytes that wait on a connection before each stream is held to one frame. */
  readonly connectionBufferBytes: number
  /** How long a goodbye may take: the round trip of a drain, and the last bytes before the socket is destroyed. */
  readonly closeMs: number
}

/** The SETTINGS that tell a client of these limits, as id, value, id, value, … */
export function announcedSettings(limits: WireLimits & Http2Limits): readonly number[] {
  return [
    Setting.maxConcurrentStreams,
    limits.concurrentStreams,
    Setting.initialWindowSize,
    limits.streamWindowBytes,
    Setting.maxHeaderListSize,
    limits.headerBytes,
    Setting.enableConnectProtocol,
    1,
    // RFC 9218 §2.1: the priority header is read, the old signal is not.
    Setting.noRfc7540Priorities,
    1,
  ]
}
