// One address that requests are sent to, with the connections that are open to it. Outlives a reload that does not change it.
// Used by forwarding; knows neither sites nor clients.
import { type ClientTimeouts, Http1ClientConnection } from '../http1/client-connection.js'
import type { FieldLimits } from '../http1/field-lines.js'
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'

/** What an endpoint is made of. */
export interface EndpointOptions {
  /** A literal address or a name for the system's resolver. */
  readonly host: string
  readonly port: number
  /** As the log and `hostward why` name it. */
  readonly label: string
  readonly timeouts: ClientTimeouts
  readonly limits: FieldLimits
}

/** Which connection an attempt may use. */
export type ConnectionChoice = 'pooled' | 'fresh'

/** An address with its pool. */
export class Endpoint {
  readonly label: string
  readonly #options: EndpointOptions
  readonly #open = new Set<Http1ClientConnection>()
  readonly #idle: Http1ClientConnection[] = []
  #isRetired = false

  constructor(options: EndpointOptions) {
    this.#options = options
    this.label = options.label
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#open.size
  }

  /** Sends a request on an idle connection, or on a new one. */
  send(request: OutgoingRequest, observer: AttemptObserver, choice: ConnectionChoice): Attempt {
    const pooled = choice === 'pooled' ? this.#takeIdle() : undefined
    return (pooled ?? this.#dial()).send(request, observer)
  }

  /** No longer configured: idle connections close now, the others when their exchange is over. */
  retire(): void {
    this.#isRetired = true
    for (const connection of this.#idle) connection.destroy()
    this.#idle.length = 0
  }

  /** The one used last is taken first: it is the least likely to have been closed by the other side. */
  #takeIdle(): Http1ClientConnection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.isUsable) return connection
    }
    return undefined
  }

  #dial(): Http1ClientConnection {
    const { host, port, timeouts, limits } = this.#options
    const connection = new Http1ClientConnection({
      host,
      port,
      timeouts,
      limits,
      onIdle: (idle) => this.#onIdle(idle),
      onClosed: (closed) => this.#onClosed(closed),
    })
    this.#open.add(connection)
    return connection
  }

  #onIdle(connection: Http1ClientConnection): void {
    if (this.#isRetired) connection.destroy()
    else this.#idle.push(connection)
  }

  #onClosed(connection: Http1ClientConnection): void {
    this.#open.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index !== -1) this.#idle.splice(index, 1)
  }
}
