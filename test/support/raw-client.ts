// A client whose every byte the test decides.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from './deadline.js'

/** A connection to a server under test; destroy it at the end. */
export class RawClient {
  readonly socket: Socket
  /** Everything received so far, one character a byte. */
  received = ''
  isEnded = false
  isClosed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1')
    })
    socket.on('end', () => {
      this.isEnded = true
    })
    socket.on('close', () => {
      this.isClosed = true
    })
    // Resets are part of many tests; 'close' tells of them.
    socket.on('error', () => undefined)
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const client = new RawClient(socket)
    await once(socket, 'connect')
    return client
  }

  send(bytes: string): void {
    this.socket.write(bytes, 'latin1')
  }

  /** Waits until what was received matches. */
  async receives(pattern: RegExp): Promise<void> {
    await until(`the client receives ${pattern}, has ${JSON.stringify(this.received.slice(-200))}`, () =>
      pattern.test(this.received),
    )
  }

  /** Waits until the server has ended the connection. */
  async ends(): Promise<void> {
    await until('the server ends the connection', () => this.isEnded || this.isClosed)
  }

  /** The statuses received so far, in order. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
  }

  destroy(): void {
    this.socket.destroy()
  }
}
