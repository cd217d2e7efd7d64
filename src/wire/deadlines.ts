// Deadlines for many connections at the price of one timer: a sweep looks at each watched object a few times a second.
// Used by everything that waits on a socket; a deadline fires late by one sweep at most, never early.

/** Something that may wait only until `deadlineMs`. */
export interface Timed {
  /** On the clock of `nowMs`; `noDeadline` while nothing is waited for. Written freely: nothing has to be told. */
  deadlineMs: number
  /** The deadline has passed. Called once for each value: the sweep sets `deadlineMs` to `noDeadline` first. */
  onDeadline(nowMs: number): void
}

/** The deadline of who waits for nothing. */
export const noDeadline = Number.POSITIVE_INFINITY

const sweepMs = 100

/** Milliseconds on a clock that never jumps. */
export function nowMs(): number {
  return performance.now()
}

/** The watched objects of one process. */
export class Deadlines {
  readonly #watched = new Set<Timed>()
  #timer: NodeJS.Timeout | undefined

  watch(timed: Timed): void {
    this.#watched.add(timed)
    this.#timer ??= setInterval(() => this.#sweep(), sweepMs).unref()
  }

  forget(timed: Timed): void {
    this.#watched.delete(timed)
    if (this.#watched.size > 0 || this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #sweep(): void {
    const now = nowMs()
    for (const timed of this.#watched) {
      if (timed.deadlineMs > now) continue
      timed.deadlineMs = noDeadline
      timed.onDeadline(now)
    }
  }
}

/** The deadlines of this process. */
export const deadlines = new Deadlines()
