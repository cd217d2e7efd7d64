// How much there may be, as people write it: every bound with its default. Used by the other schema files.

import { z } from 'zod'
import { whole } from './schema-parts.js'

const perSecond = (value: number) => whole(1, 1_000_000).default(value)

const http2LimitsSchema = z.strictObject({
  concurrentStreams: whole(1, 10_000)
    .default(250)
    .describe('Requests open at once, as announced; one more is refused.'),
  sectionBytes: whole(16_384, 16_777_216).default(262_144).describe('Compressed bytes of one header block.'),
  continuationFrames: whole(1, 10_000).default(32).describe('CONTINUATION frames of one header block.'),
  resetBurst: whole(1, 1_000_000)
    .default(250)
    .describe('Requests that a client may cancel at once before they are answered.'),
  resetsPerSecond: perSecond(50).describe('How fast `resetBurst` refills.'),
  faultBurst: whole(1, 1_000_000).default(100).describe('Streams that a client may make us reset or refuse at once.'),
  faultsPerSecond: perSecond(10).describe('How fast `faultBurst` refills.'),
  controlBurst: whole(1, 1_000_000)
    .default(1000)
    .describe('Frames that carry nothing (PING, SETTINGS, empty DATA, …) at once.'),
  controlPerSecond: perSecond(100).describe('How fast `controlBurst` refills.'),
  streamWindowBytes: whole(1024, 16_777_216)
    .default(65_535)
    .describe('Bytes of a request body that nobody has read yet.'),
  streamWindowBytesMax: whole(65_535, 16_777_216)
    .default(1_048_576)
    .describe('What that grows to while the body is taken as fast as it comes.'),
  windowPoolBytes: whole(0, 1_073_741_824)
    .default(16_777_216)
    .describe('What the windows of one connection may grow by, all together.'),
  connectionWindowBytes: whole(65_535, 1_073_741_824)
    .default(4_194_304)
    .describe('Bytes of request bodies on the way on one connection.'),
  streamBufferBytes: whole(16_384, 16_777_216)
    .default(131_072)
    .describe('Bytes of a response that wait for a client before its upstream is told to stop.'),
  connectionBufferBytes: whole(16_384, 1_073_741_824)
    .default(2_097_152)
    .describe('Bytes of all responses of one connection that wait before each is held to one frame.'),
  closeMs: whole(1, 60_000).default(1000).describe('Milliseconds that a goodbye may take.'),
})

/** The bound on a request's body, for one site and for all. */
export function requestBodyBytes() {
  return whole(0, 1_099_511_627_776).nullable()
}

/** Bounds of the whole and of one connection. */
export const limitsSchema = z.strictObject({
  connections: whole(1, 1_000_000).default(20_000).describe('Open client connections, all listeners together.'),
  tlsContexts: whole(1, 1_000_000)
    .default(5000)
    .describe(
      'Certificates that are kept ready for handshakes; one that was not asked for longest is made ready anew.',
    ),
  headerBytes: whole(1024, 1_048_576).default(65_536).describe('Bytes of one header block.'),
  headerCount: whole(8, 10_000).default(256).describe('Header lines of one header block.'),
  targetBytes: whole(256, 1_048_576).default(16_384).describe('Bytes of a request target.'),
  pipelined: whole(1, 1000).default(16).describe('Requests of one HTTP/1.1 connection that wait for their turn.'),
  bodyBytesPerSecondMin: whole(0, 1_000_000_000)
    .default(100)
    .describe(
      'Bytes a second, averaged over `timeouts.bodyIdleMs`, that a client takes of an answer, or gives of a request that is not answered yet, while it alone is waited for.',
    ),
  requestBodyBytes: requestBodyBytes()
    .default(null)
    .describe(
      'Bytes of a request body, above which it is answered 413; null is no bound, for large bodies are never kept.',
    ),
  heldBodyBytes: whole(0, 1_048_576)
    .default(16_384)
    .describe(
      'Bytes of a request body up to which an endpoint gets it only once it is whole; larger ones pass as they come.',
    ),
  http2: http2LimitsSchema.prefault({}).describe('Bounds of one HTTP/2 connection; budgets refill with time.'),
})
