// A body that is gathered before anybody gets it: whole, it can be delivered more than once; too large or too slow, it begins
// to flow with what has come, once. Used for request bodies; what is broken while it is held reaches nobody.
import { type BodySink, type BodySource, unknownLength } from '../wire/body.js'
import { deadlines, noDeadline, nowMs, type Timed } from '../wire/deadlines.js'
import type { Failure } from '../wire/failure.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { BodyObserver, RequestBody } from './request-body.js'

/** What is held, at most. */
export interface HeldBodies {
  readonly bytesMax: number
  /** How long a body without a length is held: its client may wait for a word before it ends. */
  readonly chunkedMs: number
}

/** More chunks than these are copied together: many tiny ones would cost more memory than their bytes. */
const chunksMax = 64

/** A body that is held. */
export class HeldBody implements RequestBody, Timed {
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
    this.#source.flow(new Intake(this))
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

  /** Takes a chunk from the client; false where it has to stop. */
  take(chunk: Buffer): boolean {
    if (this.#sink !== undefined) return this.#pass(this.#sink, chunk)
    this.#keep(chunk)
    if (this.#state === 'passing') this.#isBlocked = true
    else if (this.#heldBytes > this.#bounds.bytesMax) this.#overflow()
    return !this.#isBlocked
  }

  /** The client has sent all. */
  finish(trailers: HeaderBlock | undefined): void {
    if (this.#sink !== undefined) return this.#sink.end(trailers)
    this.#isEnded = true
    this.#trailers = trailers?.clone()
    if (this.#state === 'holding') this.#ready('whole')
  }

  /** The rest will not come. */
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
    if (this.#chunks.length === chunksMax) this.#chunks = [Buffer.concat(this.#chunks)]
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

/** The side of a held body that the client fills. */
class Intake implements BodySink {
  readonly #body: HeldBody

  constructor(body: HeldBody) {
    this.#body = body
  }

  write(chunk: Buffer): boolean {
    return this.#body.take(chunk)
  }

  end(trailers: HeaderBlock | undefined): void {
    this.#body.finish(trailers)
  }

  abort(failure: Failure): void {
    this.#body.break(failure)
  }
}
