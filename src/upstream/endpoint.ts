// One address that requests are sent to, with the connections that are open to it. Outlives a reload that does not change it.
// Used by forwarding; knows neither sites nor clients.
import { Http1ClientConnection } from '../http1/client-connection.js'
import type { FieldLimits } from '../http1/field-lines.js'
import type { Attempt, AttemptObserver, OutgoingRequest } from '../wire/attempt.js'
import type { ClientConnection, ClientConnectionOwner, ClientTimeouts, Transport } from '../wire/client-connection.js'
import type { Failure } from '../wire/failure.js'
import { Dial } from './dial.js'
import { Lookups } from './resolve-lookups.js'
import { DialTarget, type TargetObserver } from './transport-target.js'

/** What an endpoint is made of. */
export interface EndpointOptions {
  /** A literal address or a name for the system's resolver. */
  readonly host: string
  readonly port: number
  /** As the log and `hostward why` name it. */
  readonly label: string
  readonly timeouts: ClientTimeouts & { readonly connectMs: number }
  readonly limits: FieldLimits
}

/** Which connection an attempt may use. */
export type ConnectionChoice = 'pooled' | 'fresh'

const lookups = new Lookups()

/** An address with its pool. */
export class Endpoint implements ClientConnectionOwner, TargetObserver {
  readonly label: string
  readonly #options: EndpointOptions
  readonly #target: DialTarget
  readonly #open = new Set<ClientConnection>()
  readonly #idle: ClientConnection[] = []
  #isRetired = false

  constructor(options: EndpointOptions) {
    const { host, port, label } = options
    this.#options = options
    this.label = label
    this.#target = new DialTarget({
      address: { kind: 'tcp', host, port, tls: false },
      protocol: 'http1',
      lookups,
      observer: this,
    })
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#open.size
  }

  /** Sends a request on an idle connection, or on a new one. */
  send(request: OutgoingRequest, observer: AttemptObserver, choice: ConnectionChoice): Attempt {
    const pooled = choice === 'pooled' ? this.#takeIdle() : undefined
    return pooled === undefined ? new WaitingAttempt(this, request, observer) : pooled.send(request, observer)
  }

  /** Starts a connection for one that waits. */
  dial(waiting: WaitingAttempt): Dial {
    return new Dial({ target: this.#target, connectMs: this.#options.timeouts.connectMs }, waiting)
  }

  /** Gives a new connection to the codec. */
  open(transport: Transport): ClientConnection {
    const { timeouts, limits } = this.#options
    const connection = new Http1ClientConnection({ transport, timeouts, limits, owner: this })
    this.#open.add(connection)
    return connection
  }

  /** No longer configured: idle connections close now, the others when their exchange is over. */
  retire(): void {
    this.#isRetired = true
    this.#target.close()
    for (const connection of this.#open) connection.drain()
  }

  onAvailable(connection: ClientConnection): void {
    if (this.#isRetired) connection.drain()
    else this.#idle.push(connection)
  }

  onClosed(connection: ClientConnection): void {
    this.#open.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index !== -1) this.#idle.splice(index, 1)
  }

  isInUse(): boolean {
    return this.#open.size > 0
  }

  onAddresses(): void {}

  onPeerCertificate(): void {}

  onAnswered(): void {}

  onFailed(): void {}

  /** The one used last is taken first: it is the least likely to have been closed by the other side. */
  #takeIdle(): ClientConnection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.capacity > 0) return connection
    }
    return undefined
  }
}

/** An attempt that waits for its connection. */
class WaitingAttempt implements Attempt {
  readonly #endpoint: Endpoint
  readonly #request: OutgoingRequest
  readonly #observer: AttemptObserver
  readonly #dial: Dial
  #attempt: Attempt | undefined

  constructor(endpoint: Endpoint, request: OutgoingRequest, observer: AttemptObserver) {
    this.#endpoint = endpoint
    this.#request = request
    this.#observer = observer
    this.#dial = endpoint.dial(this)
  }

  onConnected(transport: Transport): void {
    this.#attempt = this.#endpoint.open(transport).send(this.#request, this.#observer)
  }

  onFailure(failure: Failure): void {
    this.#observer.onFailure(failure)
  }

  cancel(): void {
    this.#dial.cancel()
    this.#attempt?.cancel()
  }
}
