// A body that is looked at on its way. Used for bounds and trailers of requests: what they do to it stands in their sinks.
import type { BodySink, BodySource } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'

/** Passes a body on through a sink of its own. */
export abstract class PassingBody implements BodySource {
  protected readonly source: BodySource

  constructor(source: BodySource) {
    this.source = source
  }

  get lengthBytes(): number {
    return this.source.lengthBytes
  }

  flow(sink: BodySink): void {
    this.source.flow(this.sinkBefore(sink))
  }

  resume(): void {
    this.source.resume()
  }

  abort(failure: Failure): void {
    this.source.abort(failure)
  }

  /** What takes the body and hands it on to `sink`. */
  protected abstract sinkBefore(sink: BodySink): BodySink
}
