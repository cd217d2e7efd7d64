// The streams of one connection: those that are open, and what is remembered of those that were (RFC 9113 §5.1).

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

  /** What a stream that is not open is; skipped ones were passed over by a larger id, or ended long ago. */
  stateOf(id: number): StreamState {
    if (id > this.lastId) return 'idle'
    if (this.#remembered?.includes(id * 2 + 1)) return 'reset_here'
    return this.#remembered?.includes(id * 2) ? 'closed' : 'skipped'
  }
}
