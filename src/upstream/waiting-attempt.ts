// An attempt that waits for its connection, and the line in which those of one pool stand. Used by pools.
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import type { ClientConnection } from '../wire/client-connection.js'
import { deadlines, noDeadline, type Timed } from '../wire/deadlines.js'
import type { Failure } from '../wire/failure.js'

/** The pool in whose line an attempt stands. */
export interface WaitingOwner {
  onAttemptOverdue(attempt: WaitingAttempt, nowMs: number): void
  onAttemptLeft(attempt: WaitingAttempt): void
}

/** Has no connection yet; once it has, it stands for the attempt on it. */
export class WaitingAttempt implements Attempt, Timed {
  deadlineMs = noDeadline
  /** Whether it stands in a line, and its neighbours there. */
  isInLine = false
  previous: WaitingAttempt | undefined
  next: WaitingAttempt | undefined
  readonly #owner: WaitingOwner
  readonly #request: OutgoingRequest
  readonly #observer: AttemptObserver
  #attempt: Attempt | undefined
  #isOver = false

  constructor(owner: WaitingOwner, request: OutgoingRequest, observer: AttemptObserver) {
    this.#owner = owner
    this.#request = request
    this.#observer = observer
  }

  /** Starts to wait. */
  waitUntil(deadlineMs: number): void {
    this.deadlineMs = deadlineMs
    deadlines.watch(this)
  }

  onDeadline(nowMs: number): void {
    this.#owner.onAttemptOverdue(this, nowMs)
  }

  /** Its connection is there; it has left the line. */
  start(connection: ClientConnection): void {
    this.#settle()
    this.#attempt = connection.send(this.#request, this.#observer)
  }

  /** There will be no connection; it has left the line. */
  fail(failure: Failure): void {
    if (this.#settle()) this.#observer.onFailure(failure)
  }

  /** Fails, but not before whoever sent it has it in hands. */
  refuse(failure: Failure): void {
    queueMicrotask(() => this.fail(failure))
  }

  cancel(): void {
    if (!this.#settle()) this.#attempt?.cancel()
    else if (this.isInLine) this.#owner.onAttemptLeft(this)
  }

  #settle(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    deadlines.forget(this)
    return true
  }
}

/** First come, first served; whoever leaves is found at once. */
export class WaitingLine {
  first: WaitingAttempt | undefined
  size = 0
  #last: WaitingAttempt | undefined

  add(attempt: WaitingAttempt): void {
    attempt.isInLine = true
    attempt.previous = this.#last
    if (this.#last === undefined) this.first = attempt
    else this.#last.next = attempt
    this.#last = attempt
    this.size++
  }

  /** Takes out one that stands in the line. */
  remove(attempt: WaitingAttempt): void {
    const { previous, next } = attempt
    if (previous === undefined) this.first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    attempt.isInLine = false
    attempt.previous = undefined
    attempt.next = undefined
    this.size--
  }

  /** Whether the attempt is one of the first `count`. */
  isAmong(count: number, attempt: WaitingAttempt): boolean {
    let ahead = attempt.previous
    for (let place = 1; place < count && ahead !== undefined; place++) ahead = ahead.previous
    return count > 0 && ahead === undefined
  }
}
