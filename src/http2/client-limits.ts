// What one connection to an endpoint may cost. Constants, because an endpoint is chosen by the operator: nobody has to tune
// them against attackers, but none of them may be missing, since an endpoint can be broken or taken over.
import type { SectionLimits } from './field-section.js'
import { Setting } from './frames.js'
import type { ResetBounds } from './paced-resets.js'
import type { WireBounds } from './session.js'

/** Streams at once until the endpoint says how many it takes: what RFC 9113 §6.5.2 has every server take at least. */
export const unannouncedStreams = 100

/** Informational heads that one answer may have before it counts as an attack. */
export const informationalMax = 32

/** How long an endpoint that let a request time out may take to answer a PING before it counts as dead. */
export const pongMs = 5000

/**
 * RST_STREAM frames: at most 190 in any half a minute. Netty and Undertow end a connection at 200 in 30 s, nghttp2 (and Node) at
 * 1000 and 33 a second, Envoy where half of 500 requests or more were reset early.
 */
export const resetBounds: ResetBounds = { resetBurst: 100, resetsPerSecond: 3 }

/** All bounds; `limits` are those of a head, as the configuration has them. */
export function clientBounds(limits: SectionLimits): WireBounds {
  return { ...fixedBounds, headerBytes: limits.headerBytes, headerCount: limits.headerCount }
}

/** The SETTINGS that tell an endpoint of them, as id, value, id, value, … */
export function clientSettings(bounds: WireBounds): readonly number[] {
  return [
    Setting.enablePush,
    0,
    Setting.initialWindowSize,
    bounds.streamWindowBytes,
    Setting.maxHeaderListSize,
    bounds.headerBytes,
  ]
}

const fixedBounds = {
  // Whatever the endpoint takes: more than this would fail together with one connection.
  concurrentStreams: 1000,
  sectionBytes: 262_144,
  continuationFrames: 32,
  // Answers and bodies earn more of them; gRPC servers send a PING for each round trip while bodies move.
  controlBurst: 1000,
  controlPerSecond: 100,
  // What a body costs whose client does not read, and what it grows to while it is read as fast as it comes.
  streamWindowBytes: 65_535,
  streamWindowBytesMax: 1_048_576,
  windowPoolBytes: 16_777_216,
  connectionWindowBytes: 4_194_304,
  // What waits for an endpoint that does not read, before the client is told to stop.
  streamBufferBytes: 131_072,
  connectionBufferBytes: 2_097_152,
  closeMs: 1000,
} as const
