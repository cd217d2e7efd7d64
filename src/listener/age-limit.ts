// Ends what has waited too long, with one timer for everything that waits. Used for handshakes and for refused
// connections that are given a moment to read the refusal.

/** How long is too long, by which clock, and what happens then. */
export interface AgeLimitOptions<Item> {
  /** Asked at every look, so that a reload also moves the deadline of what already waits. */
  readonly ageMs: () => number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  /** Called once for each item that came of age; the item is forgotten before. */
  readonly expire: (item: Item) => void
}

// The timer looks no more often than this, so that a crowd is ended in batches, and no less, so that a shorter limit
// of a reload is noticed.
const lookMinMs = 20
const lookMaxMs = 1000

/** A set whose members are expired at a common age. */
export class AgeLimit<Item> {
  readonly #options: AgeLimitOptions<Item>
  // A Map keeps the order of insertion, and with one age for all the oldest is always the first to be due.
  readonly #since = new Map<Item, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: AgeLimitOptions<Item>) {
    this.#options = options
  }

  /** How many are waiting. */
  get size(): number {
    return this.#since.size
  }

  /** Starts the age of an item at zero. */
  add(item: Item): void {
    this.#since.delete(item)
    this.#since.set(item, this.#options.now())
    this.#arm()
  }

  /** Lets an item off; one that is not there is no mistake. */
  delete(item: Item): void {
    this.#since.delete(item)
  }

  #arm(): void {
    if (this.#timer !== undefined) return
    for (const since of this.#since.values()) {
      const dueMs = since + this.#options.ageMs() - this.#options.now()
      this.#timer = setTimeout(() => this.#look(), Math.min(Math.max(dueMs, lookMinMs), lookMaxMs))
      this.#timer.unref()
      return
    }
  }

  #look(): void {
    this.#timer = undefined
    const bornBefore = this.#options.now() - this.#options.ageMs()
    for (const [item, since] of this.#since) {
      if (since > bornBefore) break
      this.#since.delete(item)
      this.#options.expire(item)
    }
    this.#arm()
  }
}
