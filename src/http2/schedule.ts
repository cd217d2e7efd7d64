// Whose turn it is to send: streams take turns of a few frames, the urgent ones more. Responses that want to come one
// after another (RFC 9218 §10) share one place among the turns, and the first of them has the turns of all. Used by the outbox.

import type { OutgoingStream } from './outgoing-stream.js'
import { framesPerTurnOf, isSequential, type Priority, urgencyOf } from './priority.js'

/** Frames after which the first of a sequence lets the next one go: 256 KiB, so that a large response starves nobody. */
const sequenceFramesMax = 16

/** Responses of one urgency that come one after another: the first takes turns, the others wait behind it. */
export interface Sequence {
  readonly priority: Priority
  leader: OutgoingStream | undefined
  framesLeft: number
  firstWaiting: OutgoingStream | undefined
  lastWaiting: OutgoingStream | undefined
  waitingCount: number
}

/** The streams of one connection that have something to send. */
export class Schedule {
  #first: OutgoingStream | undefined
  #last: OutgoingStream | undefined
  /** By urgency; allocated with the first. */
  #sequences: (Sequence | undefined)[] | undefined

  /** The stream whose turn it is. */
  get first(): OutgoingStream | undefined {
    return this.#first
  }

  /** Takes in a stream that is not in it. */
  add(stream: OutgoingStream): void {
    stream.isReady = true
    if (isSequential(stream.priority)) this.#enterSequence(stream)
    else this.#takeTurn(stream, framesPerTurnOf(stream.priority))
  }

  /** The first has had a chance to send a frame; one that has no more to send leaves. */
  advance(hasMore: boolean): void {
    const stream = this.#first
    if (stream === undefined) return
    if (stream.sequence !== undefined) stream.sequence.framesLeft--
    if (hasMore && --stream.framesLeft > 0) return
    this.#first = stream.nextReady
    if (this.#first === undefined) this.#last = undefined
    stream.nextReady = undefined
    stream.isReady = false
    if (stream.sequence !== undefined) this.#endSequenceTurn(stream, stream.sequence, hasMore ? 'more' : 'none')
    else if (hasMore) this.add(stream)
  }

  /** A stream's priority has changed; whoever takes turns already gets its new place when its turn ends. */
  move(stream: OutgoingStream): void {
    const { sequence } = stream
    if (sequence === undefined || sequence.leader === stream) return
    unlink(sequence, stream)
    this.add(stream)
  }

  clear(): void {
    this.#first = this.#last = this.#sequences = undefined
  }

  #enterSequence(stream: OutgoingStream): void {
    const sequence = this.#sequenceOf(stream.priority)
    stream.sequence = sequence
    if (sequence.leader === undefined) return this.#lead(sequence, stream)
    if (sequence.lastWaiting === undefined) sequence.firstWaiting = stream
    else sequence.lastWaiting.nextReady = stream
    sequence.lastWaiting = stream
    sequence.waitingCount++
  }

  #lead(sequence: Sequence, stream: OutgoingStream): void {
    sequence.leader = stream
    sequence.framesLeft = sequenceFramesMax
    this.#takeSequenceTurn(sequence, stream)
  }

  #takeSequenceTurn({ priority, waitingCount, framesLeft }: Sequence, stream: OutgoingStream): void {
    const frames = framesPerTurnOf(priority) * (1 + waitingCount)
    this.#takeTurn(stream, Math.max(1, Math.min(frames, framesLeft)))
  }

  #endSequenceTurn(stream: OutgoingStream, sequence: Sequence, rest: 'more' | 'none'): void {
    const isLate = sequence.framesLeft <= 0 && sequence.firstWaiting !== undefined
    if (rest === 'more' && !isLate && stream.priority === sequence.priority) {
      stream.isReady = true
      return this.#takeSequenceTurn(sequence, stream)
    }
    stream.sequence = undefined
    sequence.leader = undefined
    const next = sequence.firstWaiting
    if (next !== undefined) {
      unlink(sequence, next)
      next.sequence = sequence
      this.#lead(sequence, next)
    }
    if (rest === 'more') this.add(stream)
  }

  #takeTurn(stream: OutgoingStream, frames: number): void {
    stream.framesLeft = frames
    if (this.#last === undefined) this.#first = stream
    else this.#last.nextReady = stream
    this.#last = stream
  }

  #sequenceOf(priority: Priority): Sequence {
    this.#sequences ??= []
    const urgency = urgencyOf(priority)
    this.#sequences[urgency] ??= {
      priority,
      leader: undefined,
      framesLeft: 0,
      firstWaiting: undefined,
      lastWaiting: undefined,
      waitingCount: 0,
    }
    return this.#sequences[urgency]
  }
}

/** Takes a stream out of those that wait. */
function unlink(sequence: Sequence, stream: OutgoingStream): void {
  let before: OutgoingStream | undefined
  let at = sequence.firstWaiting
  while (at !== undefined && at !== stream) {
    before = at
    at = at.nextReady
  }
  if (at === undefined) return
  if (before === undefined) sequence.firstWaiting = stream.nextReady
  else before.nextReady = stream.nextReady
  if (sequence.lastWaiting === stream) sequence.lastWaiting = before
  sequence.waitingCount--
  stream.nextReady = undefined
  stream.sequence = undefined
}
