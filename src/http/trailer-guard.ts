// Keeps lines out of the trailers of requests whose names mean something in this configuration: a header that is believed or
// removed must not come in behind the body, where some endpoints take it for one. Used by forwarding; the codecs keep out known names.
import type { BodySink, BodySource } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'
import { isAlike, isKnownName } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { PassingBody } from './passing-body.js'

/** Some names and their look-alikes. */
export class TrailerGuard {
  readonly #names: readonly Uint8Array[]

  constructor(names: readonly string[]) {
    this.#names = names.map((name) => Buffer.from(name.toLowerCase()))
  }

  /** Drops their lines. */
  keepOut(trailers: HeaderBlock): void {
    for (let index = 0; index < trailers.count; index++) if (this.#knows(trailers, index)) trailers.drop(index)
  }

  #knows(trailers: HeaderBlock, index: number): boolean {
    const { bytes } = trailers
    const start = trailers.startOf(index)
    const end = trailers.nameEndOf(index)
    return this.#names.some((name) => isAlike(bytes, start, end, name))
  }
}

/** The guard of these names; undefined where every one of them is kept out anyway. */
export function trailerGuard(names: readonly string[]): TrailerGuard | undefined {
  const own = names.filter((name) => !isKnownName(name))
  return own.length === 0 ? undefined : new TrailerGuard(own)
}

/** A body with what `guard` lets through of its trailers. */
export function guardTrailers(body: BodySource, guard: TrailerGuard | undefined): BodySource {
  return guard === undefined ? body : new GuardedBody(body, guard)
}

class GuardedBody extends PassingBody {
  readonly #guard: TrailerGuard

  constructor(source: BodySource, guard: TrailerGuard) {
    super(source)
    this.#guard = guard
  }

  protected sinkBefore(sink: BodySink): BodySink {
    return new GuardedSink(sink, this.#guard)
  }
}

class GuardedSink implements BodySink {
  readonly #sink: BodySink
  readonly #guard: TrailerGuard

  constructor(sink: BodySink, guard: TrailerGuard) {
    this.#sink = sink
    this.#guard = guard
  }

  write(chunk: Buffer): boolean {
    return this.#sink.write(chunk)
  }

  end(trailers: HeaderBlock | undefined): void {
    if (trailers !== undefined) this.#guard.keepOut(trailers)
    this.#sink.end(trailers)
  }

  abort(failure: Failure): void {
    this.#sink.abort(failure)
  }
}
