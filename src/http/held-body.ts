// A body that is gathered before anybody gets it: whole, it can be delivered more than once; too large or too slow, it begins
// to flow with what has come, once. Used for request bodies; what is broken while it is held reaches nobody.
import { type BodySink, type BodySource, unknownLength } from '../wire/body.js'
import { deadlines, noDeadline, nowMs, type Timed } from '../wire/deadlines.js'
import type { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { BodyIntake, type FilledBody, keptChunksMax } from './body-intake.js'
import type { BodyObserver, RequestBody } from './request-body.js'

/** What is held, at most. */
export interface HeldBodies {
  readonly bytesMax: number
  /** How long a body without a length is held: its client may wait for a word before it ends. */
  readonly chunkedMs: number
}

/** A body that is held. */
export class HeldBody implements RequestBody, FilledBody, Timed {
  deadlineMs = noDeadline
  readonly #source: BodySource
  readonly #bounds: HeldBodies
  #state: 'holding' | 'whole' | 'passing' = 'holding'
  #observer: BodyObserver | undefined
  #sink: BodySink | undefined
  #chunks: Buffer[] = []
  #heldBytes = 0
  #trailers: HeaderBlock | undefined
  #isEnded = false
  #isBlocked = false
  #failure: Failure | undefined

  constructor(source: BodySource, bounds: HeldBodies) {
    this.#source = source
    this.#bounds = bounds
  }

  get lengthBytes(): number {
    return this.#source.lengthBytes
  }

  get isConsumed(): boolean {
    return this.#sink !== undefined
  }

  /** Begins to gather; `observer` hears when it is enough. */
  hold(observer: BodyObserver): void {
    this.#observer = observer
    if (this.lengthBytes === unknownLength) {
      this.deadlineMs = nowMs() + this.#bounds.chunkedMs
      deadlines.watch(this)
    }
    this.#source.flow(new BodyIntake(this))
  }

  /** Its end does not come: what there is goes on. */
  onDeadline(): void {
    this.#ready('passing')
  }

  flow(sink: BodySink): void {
    if (this.#failure !== undefined) return sink.abort(this.#failure)
    const chunks = this.#chunks
    if (this.#state === 'passing') {
      this.#sink = sink
      this.#chunks = []
    }
    let isRoomy = true
    for (const chunk of chunks) isRoomy = sink.write(chunk) && isRoomy
    if (this.#isEnded) sink.end(this.#trailers)
    else if (isRoomy && this.#isBlocked) this.resume()
    else this.#isBlocked = !isRoomy
  }

  resume(): void {
    this.#isBlocked = false
    if (this.#state === 'passing') this.#source.resume()
  }

  abort(failure: Failure): void {
    if (this.#state !== 'passing') return
    this.#chunks = []
    this.#source.abort(failure)
  }

  release(): void {
    if (this.#state === 'whole') this.#chunks = []
  }

  take(chunk: Buffer): boolean {
    if (this.#sink !== undefined) return this.#pass(this.#sink, chunk)
    this.#keep(chunk)
    if (this.#state === 'passing') this.#isBlocked = true
    else if (this.#heldBytes > this.#bounds.bytesMax) this.#overflow()
    return !this.#isBlocked
  }

  finish(trailers: HeaderBlock | undefined): void {
    if (this.#sink !== undefined) return this.#sink.end(trailers)
    this.#isEnded = true
    this.#trailers = trailers?.clone()
    if (this.#state === 'holding') this.#ready('whole')
  }

  break(failure: Failure): void {
    if (this.#sink !== undefined) return this.#sink.abort(failure)
    this.#failure = failure
    this.#chunks = []
    if (this.#state !== 'holding') return
    deadlines.forget(this)
    this.#observer?.onBodyBroken(failure)
  }

  #pass(sink: BodySink, chunk: Buffer): boolean {
    const isRoomy = sink.write(chunk)
    if (!isRoomy) this.#isBlocked = true
    return isRoomy
  }

  #keep(chunk: Buffer): void {
    this.#heldBytes += chunk.length
    if (this.#chunks.length === keptChunksMax) this.#chunks = [Buffer.concat(this.#chunks)]
    this.#chunks.push(chunk)
  }

  /** The client stops until somebody takes what has come. */
  #overflow(): void {
    this.#isBlocked = true
    this.#ready('passing')
  }

  #ready(state: 'whole' | 'passing'): void {
    this.#state = state
    if (this.lengthBytes === unknownLength) deadlines.forget(this)
    this.#observer?.onBodyReady()
  }
}
