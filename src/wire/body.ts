// A body on its way from one socket to another, the same on every wire. A source delivers into one sink under
// back-pressure; neither knows what is at the other end.
import type { Failure } from './failure.js'
import type { HeaderBlock } from './header-block.js'

/** Where a body comes from. */
export interface BodySource {
  /** Its length in bytes as announced, `unknownLength` where it is not. */
  readonly lengthBytes: number
  /** Starts delivering into `sink`; called once. */
  flow(sink: BodySink): void
  /** The sink, which had answered `write` with false, has room again. */
  resume(): void
  /** Nobody wants the rest. After it the sink hears nothing more. */
  abort(failure: Failure): void
}

/** Where a body goes to. Exactly one of `end` and `abort` comes last. */
export interface BodySink {
  /**
   * Takes a chunk that nobody changes any more. False: full, so the source stops (what it has already read may still
   * come) until the sink calls its `resume`.
   */
  write(chunk: Buffer): boolean
  /** The body is complete; `trailers` are lent. */
  end(trailers: HeaderBlock | undefined): void
  /** The body stays incomplete, and must not look complete to whoever reads on. */
  abort(failure: Failure): void
}

/** The length of a body that ends with its framing, not at a known byte. */
export const unknownLength = -1
