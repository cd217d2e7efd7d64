// ExpiryWatch: says in time that a certificate in use is near its end. Owned by the server, told by each reload.
// A change of state is reported, not each look.
import type { Certificate } from './certificate.js'
import type { ExpiryState } from './expiry.js'
import { daysLeft, expiryState } from './expiry.js'

/** One certificate in use, with the sites that hang on it. */
export interface WatchedCertificate {
  /** What the certificate is called, the same before and after a renewal. */
  readonly name: string
  readonly certificate: Certificate
  readonly vhosts: readonly string[]
}

/** What the log line `certificate_expiry` says. */
export interface ExpiryReport {
  readonly certificate: string
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
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** Runs `work` once after `delayMs`; the returned function takes it back. */
  readonly schedule: (work: () => void, delayMs: number) => () => void
}

interface Told {
  readonly state: ExpiryState
  readonly fingerprint256: string
  readonly atMs: number
}

const reminderMs = 86_400_000
const checkIntervalMsMax = 60_000
const checkIntervalMsMin = 1_000

/** Reports each change of state, what is not well when it is loaded, and that again daily. Closed by its owner. */
export class ExpiryWatch {
  readonly #options: ExpiryWatchOptions
  #watched: readonly WatchedCertificate[] = []
  #told = new Map<string, Told>()
  #cancel: () => void = () => {}

  constructor(options: ExpiryWatchOptions) {
    this.#options = options
  }

  /** Watches exactly these from now on; what was told of a name before still counts. */
  setCertificates(watched: readonly WatchedCertificate[]): void {
    this.#watched = watched
    const names = new Set(watched.map(({ name }) => name))
    this.#told = new Map([...this.#told].filter(([name]) => names.has(name)))
    this.#check()
  }

  /** Ends the timer. */
  close(): void {
    this.#cancel()
    this.#watched = []
  }

  #check(): void {
    this.#cancel()
    const nowMs = this.#options.clock()
    for (const watched of this.#watched) this.#judge(watched, nowMs)
    if (this.#watched.length === 0) return
    this.#cancel = this.#options.schedule(() => this.#check(), checkIntervalMs(this.#watched))
  }

  #judge(watched: WatchedCertificate, nowMs: number): void {
    const { name, certificate } = watched
    const state = expiryState(certificate, nowMs)
    if (!isNews(this.#told.get(name), state, certificate.fingerprint256, nowMs)) return
    this.#told.set(name, { state, fingerprint256: certificate.fingerprint256, atMs: nowMs })
    this.#options.onReport(reportOf(watched, state, nowMs))
  }
}

function isNews(told: Told | undefined, state: ExpiryState, fingerprint256: string, nowMs: number): boolean {
  if (told === undefined) return state !== 'ok'
  if (told.state !== state) return true
  if (state === 'ok') return false
  return told.fingerprint256 !== fingerprint256 || nowMs - told.atMs >= reminderMs
}

function checkIntervalMs(watched: readonly WatchedCertificate[]): number {
  const lifetimesMs = watched.map(({ certificate }) => certificate.notAfterMs - certificate.notBeforeMs)
  const shortestMs = lifetimesMs.reduce((shortest, lifetime) => Math.min(shortest, lifetime))
  return Math.max(checkIntervalMsMin, Math.min(checkIntervalMsMax, shortestMs / 200))
}

function reportOf({ name, certificate, vhosts }: WatchedCertificate, state: ExpiryState, nowMs: number): ExpiryReport {
  return {
    certificate: name,
    vhosts,
    file: certificate.certFile,
    state,
    notAfter: new Date(certificate.notAfterMs).toISOString(),
    daysLeft: daysLeft(certificate, nowMs),
    serial: certificate.serial,
    fingerprint256: certificate.fingerprint256,
  }
}
