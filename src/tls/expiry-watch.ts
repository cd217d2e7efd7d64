// ExpiryWatch: says in time that something with an end is near it: leaves, chains, client authorities, certificates of
// upstreams. Owned by the server; whoever knows dated things tells of all of his, under a name of his own.
import type { ExpiryState, Validity } from './expiry.js'
import { daysLeft, expiryState } from './expiry.js'
import { LevelWatch, type WatchTime } from './level-watch.js'

/** Something in use that ends, with what hangs on it. */
export interface DatedThing extends Validity {
  readonly kind: 'leaf' | 'intermediate' | 'client_ca' | 'upstream'
  /** What it is called, the same before and after a renewal. */
  readonly name: string
  readonly file: string
  /** The sites that fail with it. */
  readonly vhosts: readonly string[]
  readonly serial: string
  readonly fingerprint256: string
}

/** What the log line `certificate_expiry` says. */
export interface ExpiryReport {
  readonly certificate: string
  readonly kind: DatedThing['kind']
  readonly vhosts: readonly string[]
  readonly file: string
  readonly state: ExpiryState
  /** ISO 8601 in UTC. */
  readonly notAfter: string
  readonly daysLeft: number
  readonly serial: string
  readonly fingerprint256: string
}

/** Whom an ExpiryWatch tells, and what it takes for time. */
export interface ExpiryWatchOptions {
  readonly onReport: (report: ExpiryReport) => void
  readonly time: WatchTime
}

const checkIntervalMsMax = 60_000
const checkIntervalMsMin = 1_000

/** Reports each change of state, what is not well when it is loaded, and that again daily. Closed by its owner. */
export class ExpiryWatch {
  readonly #watch: LevelWatch<DatedThing, ExpiryState>
  readonly #sources = new Map<string, readonly DatedThing[]>()

  constructor({ onReport, time }: ExpiryWatchOptions) {
    this.#watch = new LevelWatch({
      levelOf: expiryState,
      well: 'ok',
      nameOf: ({ kind, name }) => `${kind} ${name}`,
      versionOf: ({ fingerprint256 }) => fingerprint256,
      intervalMs: checkIntervalMs,
      onReport: (thing, state, nowMs) => onReport(reportOf(thing, state, nowMs)),
      time,
    })
  }

  /** Watches exactly these things of `source` from now on, and those of all other sources as before. */
  setThings(source: string, things: readonly DatedThing[]): void {
    this.#sources.set(source, things)
    this.#watch.setThings([...this.#sources.values()].flat())
  }

  /** Ends the timer. */
  close(): void {
    this.#watch.close()
  }
}

/** The shortest life sets the pace: a two-hundredth of it, a minute at most. */
function checkIntervalMs(things: readonly DatedThing[]): number {
  const lifetimesMs = things.map(({ notBeforeMs, notAfterMs }) => notAfterMs - notBeforeMs)
  const shortestMs = lifetimesMs.reduce((shortest, lifetime) => Math.min(shortest, lifetime))
  return Math.max(checkIntervalMsMin, Math.min(checkIntervalMsMax, shortestMs / 200))
}

function reportOf(thing: DatedThing, state: ExpiryState, nowMs: number): ExpiryReport {
  const { name, kind, vhosts, file, notAfterMs, serial, fingerprint256 } = thing
  const notAfter = new Date(notAfterMs).toISOString()
  return {
    certificate: name,
    kind,
    vhosts,
    file,
    state,
    notAfter,
    daysLeft: daysLeft(thing, nowMs),
    serial,
    fingerprint256,
  }
}
