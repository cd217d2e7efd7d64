// An upstream whose every byte the test decides: it keeps what it received and says what the script says.

import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { until } from './deadline.js'

/** One connection that the upstream accepted. */
export interface UpstreamConnection {
  readonly socket: Socket
  /** Everything received so far, one character a byte. */
  received: string
  isClosed: boolean
}

/** Called for each chunk that a connection receives. */
export type Script = (connection: UpstreamConnection, upstream: ScriptedUpstream) => void

/** A raw server under the control of a test; close it at the end. */
export class ScriptedUpstream {
  readonly connections: UpstreamConnection[] = []
  readonly #server: Server
  #script: Script
  #port: number | undefined

  constructor(script: Script) {
    this.#script = script
    this.#server = createServer({ allowHalfOpen: false }, (socket) => this.#accept(socket))
  }

  async open(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  /** Takes no more connections; those that are open stay. */
  refuse(): void {
    this.#port = this.port
    this.#server.close()
  }

  get port(): number {
    if (this.#port !== undefined) return this.#port
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the upstream is not open')
    return address.port
  }

  set script(script: Script) {
    this.#script = script
  }

  /** Everything that all connections received, in the order of the connections. */
  get received(): string {
    return this.connections.map((connection) => connection.received).join('')
  }

  /** Waits until so many connections have been accepted, and returns the last of them. */
  async accepts(count: number): Promise<UpstreamConnection> {
    await until(`the upstream accepts ${count} connections`, () => this.connections.length >= count)
    return this.connections[count - 1] as UpstreamConnection
  }

  /** Waits until every connection is closed. */
  async isDeserted(): Promise<void> {
    await until('every upstream connection closes', () => this.connections.every(({ isClosed }) => isClosed))
  }

  /** Waits until what was received matches. */
  async receives(pattern: RegExp): Promise<void> {
    await until(`the upstream receives ${pattern}`, () => pattern.test(this.received))
  }

  async close(): Promise<void> {
    for (const { socket } of this.connections) socket.destroy()
    if (this.#port !== undefined) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(socket: Socket): void {
    const connection: UpstreamConnection = { socket, received: '', isClosed: false }
    this.connections.push(connection)
    socket.on('data', (chunk) => {
      connection.received += chunk.toString('latin1')
      this.#script(connection, this)
    })
    socket.on('close', () => {
      connection.isClosed = true
    })
    // Resets are part of many scripts; 'close' tells of them.
    socket.on('error', () => undefined)
  }
}

/** Answers each head without a body with the given response. */
export function answering(response: string): Script {
  return (connection) => {
    const heads = connection.received.split('\r\n\r\n').length - 1
    const state = connection as UpstreamConnection & { answered?: number }
    for (let answered = state.answered ?? 0; answered < heads; answered++) connection.socket.write(response, 'latin1')
    state.answered = heads
  }
}

/** A response with a length. */
export function response(body: string, head = ''): string {
  return `HTTP/1.1 200 OK\r\n${head}content-length: ${body.length}\r\n\r\n${body}`
}
