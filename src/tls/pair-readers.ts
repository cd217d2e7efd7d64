// Reads pairs of files: a few at once here, thousands in threads of their own, because each takes half a millisecond that
// traffic would wait for. Used by the shelf of certificates.
import { availableParallelism } from 'node:os'
import { forEachBounded } from '../files/bounded.js'
import { type PairReading, type ReadRequest, readPair } from './certificate-source.js'
import { PairThread } from './pair-thread.js'
import type { PairBatch } from './pair-worker.js'

/** Fewer are read before a thread has started. */
const threadsFrom = 64
const threadsMax = Math.min(4, availableParallelism())
/** Whoever asks still has work of its own. */
const threadsWhileAsking = Math.max(1, threadsMax - 1)
const batchSize = 32
const readingsAtOnce = 32

/** Readings that are asked for one by one and told all at once; of thousands, the first are begun with before the last are asked for. */
export class PairReadings {
  readonly #numbers = new Map<string, number>()
  readonly #requests: ReadRequest[] = []
  readonly #readings = new Map<number, PairReading>()
  readonly #threads: PairThread[] = []
  /** How many of the requests threads have been given. */
  #given = 0
  #isComplete = false

  /** Of requests with the same key the first one counts. */
  ask(key: string, request: ReadRequest): void {
    if (this.#numbers.has(key)) return
    this.#numbers.set(key, this.#requests.length)
    this.#requests.push(request)
    if (this.#waiting >= threadsFrom && this.#threads.length < threadsWhileAsking) this.#startThread()
    else if (this.#waiting >= batchSize) this.#giveToIdle()
  }

  /** Resolves to all readings by their keys; nothing may be asked for afterwards. Never rejects. */
  async all(): Promise<ReadonlyMap<string, PairReading>> {
    this.#isComplete = true
    this.#giveToIdle()
    while (this.#waiting >= threadsFrom && this.#threads.length < threadsMax) this.#startThread()
    await Promise.all(this.#threads.map(({ ended }) => ended))
    // All of them without threads; with threads what a thread that could not be had, or died, has left.
    const left = [...this.#requests.keys()].filter((number) => !this.#readings.has(number))
    await forEachBounded(left, readingsAtOnce, async (number) => {
      this.#readings.set(number, await readPair(this.#requests[number] as ReadRequest))
    })
    const byKey = new Map<string, PairReading>()
    for (const [key, number] of this.#numbers) byKey.set(key, this.#readings.get(number) as PairReading)
    return byKey
  }

  get #waiting(): number {
    return this.#requests.length - this.#given
  }

  #startThread(): void {
    const thread = new PairThread((result) => {
      for (const [number, reading] of result) this.#readings.set(number, reading)
      this.#giveTo(thread)
    })
    this.#threads.push(thread)
    this.#giveTo(thread)
  }

  #giveToIdle(): void {
    for (const thread of this.#threads) if (thread.isIdle) this.#giveTo(thread)
  }

  #giveTo(thread: PairThread): void {
    const batch = this.#nextBatch()
    if (batch.length > 0) thread.read(batch)
    else if (this.#isComplete) thread.end()
  }

  /** Empty where the next batch is not full yet. */
  #nextBatch(): PairBatch {
    const batch = this.#requests.slice(this.#given, this.#given + batchSize)
    if (batch.length < batchSize && !this.#isComplete) return []
    const first = this.#given
    this.#given += batch.length
    return batch.map((request, index) => [first + index, request])
  }
}
