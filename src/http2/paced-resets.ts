// The RST_STREAM frames that one connection to an endpoint sends: no more than endpoints take before they count whoever sends
// them as an attacker (CVE-2023-44487) and end the connection with everybody's requests. Made by the client connection.
import { deadlines, noDeadline, type Timed } from '../wire/deadlines.js'
import { Budget } from './armour.js'

/** How many may be sent at once, and how fast that refills. */
export interface ResetBounds {
  readonly resetBurst: number
  readonly resetsPerSecond: number
}

/** The connection that they are sent on. */
export interface PacedResetsOwner {
  readonly eventMs: number
  readonly outbox: { rstStream(streamId: number, code: number): void }
  /** Takes nothing new: what is in flight ends here, and other requests get another connection. */
  retire(): void
}

interface HeldReset {
  readonly streamId: number
  readonly code: number
}

/** What an endpoint may still say on a stream that it does not know to be given up: a head, trailers, a RST_STREAM. */
const lateFrames = 3

/** Sends what fits into the bounds; from the first that does not, the connection retires and the others go out one by one. */
export class PacedResets implements Timed {
  deadlineMs = noDeadline
  readonly #owner: PacedResetsOwner
  readonly #bounds: ResetBounds
  readonly #budget: Budget
  #held: HeldReset[] | undefined
  #lateFramesLeft = 0

  constructor(owner: PacedResetsOwner, bounds: ResetBounds) {
    this.#owner = owner
    this.#bounds = bounds
    this.#budget = new Budget(bounds.resetBurst, owner.eventMs)
  }

  /** Tells the endpoint that a stream is given up, now or a little later; the stream is closed by whoever asks. */
  send(streamId: number, code: number): void {
    const { resetBurst: burst, resetsPerSecond: perSecond } = this.#bounds
    const { eventMs: nowMs, outbox } = this.#owner
    if (this.#held === undefined && this.#budget.spend(1, { burst, perSecond, nowMs })) {
      outbox.rstStream(streamId, code)
    } else {
      this.#hold({ streamId, code })
    }
  }

  /** Whether a frame on a stream that is given up is no flood, since the endpoint was not told in time. */
  takesLate(): boolean {
    if (this.#lateFramesLeft === 0) return false
    this.#lateFramesLeft--
    return true
  }

  /** The connection is closed. */
  close(): void {
    deadlines.forget(this)
  }

  onDeadline(now: number): void {
    const next = this.#held?.shift()
    if (next === undefined) return
    this.#owner.outbox.rstStream(next.streamId, next.code)
    this.deadlineMs = now + this.#paceMs
  }

  get #paceMs(): number {
    return 1000 / this.#bounds.resetsPerSecond
  }

  #hold(reset: HeldReset): void {
    if (this.#held === undefined) {
      this.#held = []
      deadlines.watch(this)
      this.#owner.retire()
    }
    this.#held.push(reset)
    this.#lateFramesLeft += lateFrames
    if (this.deadlineMs === noDeadline) this.deadlineMs = this.#owner.eventMs + this.#paceMs
  }
}
