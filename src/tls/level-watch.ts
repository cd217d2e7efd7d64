// LevelWatch: compares things with the clock, again and again, and tells of each change of level. Used by ExpiryWatch
// and by the watch over certificates that are not in service. What is not well is told again daily, never at each look.

/** How a watch judges its things, whom it tells, and what it takes for time. */
export interface LevelWatchOptions<Thing, Level extends string> {
  readonly levelOf: (thing: Thing, nowMs: number) => Level
  /** The level that is told only when it follows another. */
  readonly well: Level
  /** What the thing is called, the same before and after a renewal. */
  readonly nameOf: (thing: Thing) => string
  /** What tells it from the one before it; another one that is no better is told anew. */
  readonly versionOf: (thing: Thing) => string
  /** How soon to look again; asked where there is something to look at. */
  readonly intervalMs: (things: readonly Thing[]) => number
  readonly onReport: (thing: Thing, level: Level, nowMs: number) => void
  readonly time: WatchTime
}

/** Time as a watch needs it, so that tests can let it pass. */
export interface WatchTime {
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** Runs `work` once after `delayMs`; the returned function takes it back. */
  readonly schedule: (work: () => void, delayMs: number) => () => void
}

interface Told<Level> {
  readonly level: Level
  readonly version: string
  readonly atMs: number
}

const reminderMs = 86_400_000

/** Watches a changeable set of things. Closed by its owner. */
export class LevelWatch<Thing, Level extends string> {
  readonly #options: LevelWatchOptions<Thing, Level>
  #things: readonly Thing[] = []
  /** What was told of things that are not well. */
  #told = new Map<string, Told<Level>>()
  #cancel: () => void = () => {}

  constructor(options: LevelWatchOptions<Thing, Level>) {
    this.#options = options
  }

  /** Watches exactly these from now on; what was told of a name before still counts. */
  setThings(things: readonly Thing[]): void {
    this.#things = things
    if (this.#told.size > 0) {
      const names = new Set(things.map(this.#options.nameOf))
      this.#told = new Map([...this.#told].filter(([name]) => names.has(name)))
    }
    this.#check()
  }

  /** Ends the timer. */
  close(): void {
    this.#cancel()
    this.#things = []
  }

  #check(): void {
    this.#cancel()
    const { time, intervalMs } = this.#options
    const nowMs = time.clock()
    for (const thing of this.#things) this.#judge(thing, nowMs)
    if (this.#things.length === 0) return
    this.#cancel = time.schedule(() => this.#check(), intervalMs(this.#things))
  }

  #judge(thing: Thing, nowMs: number): void {
    const { levelOf, well, nameOf, versionOf, onReport } = this.#options
    const level = levelOf(thing, nowMs)
    // Ten thousand things are looked at, and most often all of them are well.
    if (level === well && this.#told.size === 0) return
    const name = nameOf(thing)
    const seen = { level, version: versionOf(thing), atMs: nowMs }
    if (!this.#isNews(this.#told.get(name), seen)) return
    if (level === well) this.#told.delete(name)
    else this.#told.set(name, seen)
    onReport(thing, level, nowMs)
  }

  #isNews(told: Told<Level> | undefined, seen: Told<Level>): boolean {
    const { well } = this.#options
    if (told === undefined) return seen.level !== well
    if (told.level !== seen.level) return true
    return told.version !== seen.version || seen.atMs - told.atMs >= reminderMs
  }
}
