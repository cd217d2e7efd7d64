// A thread that reads pairs, as its owner sees it. Used by pair-readers.ts; what it has not answered when it ends is lost.
import { Worker } from 'node:worker_threads'
import type { PairBatch, PairBatchResult } from './pair-worker.js'

/** Reads one batch after the other. One that waits for its next batch does not keep the process. */
export class PairThread {
  /** Resolves when the thread has ended, for whatever reason; never rejects. */
  readonly ended: Promise<void>
  readonly #worker = new Worker(new URL('./pair-worker.js', import.meta.url))
  #isIdle = true

  /** `onRead` is called with each batch's readings, when the thread is idle again. */
  constructor(onRead: (result: PairBatchResult) => void) {
    this.#worker.unref()
    this.#worker.on('message', (result: PairBatchResult) => {
      this.#isIdle = true
      this.#worker.unref()
      onRead(result)
    })
    this.ended = new Promise((resolve) => {
      this.#worker.on('error', () => resolve())
      this.#worker.on('exit', () => resolve())
    })
  }

  get isIdle(): boolean {
    return this.#isIdle
  }

  read(batch: PairBatch): void {
    this.#isIdle = false
    this.#worker.ref()
    this.#worker.postMessage(batch)
  }

  end(): void {
    void this.#worker.terminate()
  }
}
