// The streams of one connection: those that are open, and what is remembered of those that were (RFC 9113 §5.1).
import type { Priority } from './priority.js'

/** What the table has to know of a stream. */
interface TableStream {
  readonly id: number
  readonly isResetHere: boolean
}

/** What a frame's stream is to us. */
export type StreamState = 'idle' | 'reset_here' | 'closed' | 'skipped'

const rememberedCount = 128

/** Open streams by id, and the last closed ones. */
export class StreamTable<Stream extends TableStream> {
  /** The largest id that has been used. */
  lastId = 0
  readonly #open = new Map<number, Stream>()
  // id * 2, and 1 more where we reset it: what the peer sent before it knew is no fault. Allocated with the first.
  #remembered: Float64Array | undefined
  #rememberedAt = 0
  /** Priorities of streams that are not open yet; allocated with the first. */
  #foretold: Map<number, Priority> | undefined

  get size(): number {
    return this.#open.size
  }

  get(id: number): Stream | undefined {
    return this.#open.get(id)
  }

  all(): IterableIterator<Stream> {
    return this.#open.values()
  }

  add(stream: Stream): void {
    this.#open.set(stream.id, stream)
  }

  /** Forgets an open stream; it is no longer found by its id. */
  remove(stream: Stream): void {
    if (this.#open.delete(stream.id)) this.remember(stream.id, stream.isResetHere ? 'reset_here' : 'closed')
  }

  /** Notes how a stream ended; also for one that was refused before it was open. */
  remember(id: number, end: 'reset_here' | 'closed'): void {
    this.#remembered ??= new Float64Array(rememberedCount)
    this.#remembered[this.#rememberedAt++ & (rememberedCount - 1)] = id * 2 + (end === 'reset_here' ? 1 : 0)
  }

  /** Notes the priority of an idle stream; false where that is one stream more than may be open (RFC 9218 §7.1). */
  foretell(id: number, priority: Priority, concurrentStreams: number): boolean {
    this.#foretold ??= new Map()
    if (!this.#foretold.has(id)) {
      for (const earlier of this.#foretold.keys()) if (earlier <= this.lastId) this.#foretold.delete(earlier)
      if (this.#foretold.size + this.size >= concurrentStreams) return false
    }
    this.#foretold.set(id, priority)
    return true
  }

  /** What was noted for a stream that opens now. */
  takeForetold(id: number): Priority | undefined {
    const priority = this.#foretold?.get(id)
    if (priority !== undefined) this.#foretold?.delete(id)
    return priority
  }

  /** What a stream that is not open is; skipped ones were passed over by a larger id, or ended long ago. */
  stateOf(id: number): StreamState {
    // RFC 9113 §5.1.1: even ids are a server's own, and neither side of ours has any.
    if (id > this.lastId || id % 2 === 0) return 'idle'
    if (this.#remembered?.includes(id * 2 + 1)) return 'reset_here'
    return this.#remembered?.includes(id * 2) ? 'closed' : 'skipped'
  }
}
