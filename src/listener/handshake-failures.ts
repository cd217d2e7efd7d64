// Turns handshakes that failed into log lines, at most one per listener, reason and minute: scanners knock all day.
// The server feeds it and calls sweep; it holds a bounded number of counts and no timer.

/** One handshake that failed. */
export interface HandshakeFailure {
  readonly listener: string
  readonly sni: string | null
  readonly peer: string
  readonly claimed: string | null
  readonly reason: string
}

/** The fields of one `handshake_failed` line: the latest failure, and how many it stands for. */
export interface HandshakeFailureLine extends HandshakeFailure {
  readonly count: number
}

/** Where lines go, and the clock in milliseconds that minutes are measured by. */
export interface HandshakeFailuresOptions {
  readonly report: (line: HandshakeFailureLine) => void
  readonly now: () => number
}

const windowMs = 60_000
// Reasons are OpenSSL's words, a few dozen in practice; past this many they share one count.
const kindsMax = 256
const overflowReason = 'other'

interface Window {
  openedAt: number
  unreported: number
  latest: HandshakeFailure
}

/** The first failure of a kind is reported at once, those that follow within the minute together after it. */
export class HandshakeFailures {
  readonly #options: HandshakeFailuresOptions
  readonly #windows = new Map<string, Window>()

  constructor(options: HandshakeFailuresOptions) {
    this.#options = options
  }

  /** Counts a failure, and reports it where its kind has been quiet for a minute. */
  record(failure: HandshakeFailure): void {
    const { kind, latest } = this.#classify(failure)
    const window = this.#windows.get(kind)
    if (window === undefined) {
      this.#windows.set(kind, { openedAt: this.#options.now(), unreported: 0, latest })
      this.#options.report({ ...latest, count: 1 })
      return
    }
    window.unreported += 1
    window.latest = latest
    if (this.#isOver(window)) this.#report(window)
  }

  /** Reports what minutes that are over have gathered, and forgets the kinds that were quiet; call it now and then. */
  sweep(): void {
    for (const [kind, window] of this.#windows) {
      if (!this.#isOver(window)) continue
      if (window.unreported === 0) this.#windows.delete(kind)
      else this.#report(window)
    }
  }

  /** Reports everything gathered so far, whatever its minute; for the shutdown. */
  flush(): void {
    for (const window of this.#windows.values()) if (window.unreported > 0) this.#report(window)
    this.#windows.clear()
  }

  #classify(failure: HandshakeFailure): { kind: string; latest: HandshakeFailure } {
    const kind = `${failure.listener} ${failure.reason}`
    if (this.#windows.has(kind) || this.#windows.size < kindsMax) return { kind, latest: failure }
    return { kind: overflowReason, latest: { ...failure, reason: overflowReason } }
  }

  #isOver(window: Window): boolean {
    return this.#options.now() - window.openedAt >= windowMs
  }

  #report(window: Window): void {
    this.#options.report({ ...window.latest, count: window.unreported })
    window.openedAt = this.#options.now()
    window.unreported = 0
  }
}
