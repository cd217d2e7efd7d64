// An upstream that reads by the book and answers every whole request; it keeps what it saw.
import { readRequest, type SeenRequest } from './request-reader.js'
import { ScriptedUpstream, type UpstreamConnection } from './scripted-upstream.js'

/** Makes the bytes of the answer to one request. */
export type Answerer = (request: SeenRequest) => string

/** A counting upstream; close it at the end. */
export class ReadingUpstream extends ScriptedUpstream {
  /** Every whole request, in the order in which they were complete. */
  readonly requests: SeenRequest[] = []
  readonly #answerer: Answerer
  readonly #readBytes = new WeakMap<UpstreamConnection, number>()

  constructor(answerer: Answerer) {
    super((connection) => this.#read(connection))
    this.#answerer = answerer
  }

  #read(connection: UpstreamConnection): void {
    for (;;) {
      const read = readRequest(connection.received, this.#readBytes.get(connection) ?? 0)
      if (read === undefined) return
      this.#readBytes.set(connection, read.end)
      this.requests.push(read.request)
      connection.socket.write(this.#answerer(read.request), 'latin1')
    }
  }
}
