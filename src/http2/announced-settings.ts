// What an endpoint's SETTINGS say about requests (RFC 9113 §6.5.2, RFC 8441 §3). Used by the client connection.
import { unannouncedStreams } from './client-limits.js'
import { Setting } from './frames.js'

/** The settings of one endpoint that a client goes by. */
export class AnnouncedSettings {
  /** Streams that may be open at once. */
  streamsMax = unannouncedStreams
  /** Whether an extended CONNECT may be sent. */
  offersConnect = false
  readonly #ownMax: number
  #announcedMax = Number.POSITIVE_INFINITY

  constructor(ownMax: number) {
    this.#ownMax = ownMax
  }

  /** Takes one setting; false where a server may not announce it. */
  take(id: number, value: number): boolean {
    if (id === Setting.maxConcurrentStreams) this.#announcedMax = value
    // A server can only say that it pushes nothing, and never takes back that it offers CONNECT.
    if (id === Setting.enablePush) return value === 0
    if (id !== Setting.enableConnectProtocol) return true
    const isTakenBack = this.offersConnect && value === 0
    this.offersConnect = value === 1
    return !isTakenBack
  }

  /** All settings of a frame were taken; whoever announces no number of streams takes any. */
  apply(): void {
    this.streamsMax = Math.min(this.#announcedMax, this.#ownMax)
  }
}
