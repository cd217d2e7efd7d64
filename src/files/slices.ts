// Long work in short slices, so that the event loop serves traffic in between; knows how long the longest slice was.
// Used by whoever reads thousands of files. Made for one piece of work.

const sliceMsMax = 4

/** The slices of one piece of work. */
export class Slices {
  #startedMs = performance.now()
  #longestMs = 0

  /** How long the loop has been blocked at most, so far. */
  get longestMs(): number {
    return Math.max(this.#longestMs, performance.now() - this.#startedMs)
  }

  /** Undefined as long as the slice may go on; otherwise what to wait for before the next one. */
  next(): Promise<void> | undefined {
    return performance.now() - this.#startedMs < sliceMsMax ? undefined : this.pause()
  }

  /** Ends the slice, however short. */
  async pause(): Promise<void> {
    await this.during(new Promise<void>((resolve) => setImmediate(resolve)))
  }

  /** Ends the slice until something else is done that does not block. */
  async during<Result>(wait: Promise<Result>): Promise<Result> {
    this.#longestMs = this.longestMs
    const result = await wait
    this.#startedMs = performance.now()
    return result
  }

  /** Does work in steps. */
  async run<Result>(steps: Generator<void, Result>): Promise<Result> {
    for (;;) {
      const step = steps.next()
      if (step.done === true) return step.value
      const pause = this.next()
      if (pause !== undefined) await pause
    }
  }
}
