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
  /** The server broke the connection instead of ending it. */
  wasReset = false

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
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.wasReset = error.code === 'ECONNRESET'
    })
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

  /** Sends one byte at a time, a long text in longer pieces, each in a turn of the event loop of its own. */
  async sendInPieces(bytes: string): Promise<void> {
    const pieceBytes = Math.ceil(bytes.length / 250)
    for (let at = 0; at < bytes.length && !this.isClosed; at += pieceBytes) {
      this.send(bytes.slice(at, at + pieceBytes))
      await new Promise((resolve) => setImmediate(resolve))
    }
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

  /** The final answers that have come whole, in order, each with its body; for answers with a length. */
  get answers(): string[] {
    const answers: string[] = []
    for (let at = 0; ; ) {
      const headEnd = this.received.indexOf('\r\n\r\n', at)
      if (headEnd === -1) return answers
      const head = this.received.slice(at, headEnd + 4)
      const isBodiless = /^HTTP\/1\.1 (?:1\d\d|204|304) /.test(head)
      const length = isBodiless ? 0 : Number(/^content-length: (\d+)\r$/im.exec(head)?.[1] ?? 0)
      if (this.received.length < headEnd + 4 + length) return answers
      if (!head.startsWith('HTTP/1.1 1')) answers.push(this.received.slice(at, headEnd + 4 + length))
      at = headEnd + 4 + length
    }
  }

  destroy(): void {
    this.socket.destroy()
  }
}
