// Connections that a CDN would hold: each asks without pause, one request after the other, and counts what goes wrong.
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { hostOf, type Sites } from './sites.js'

/** A server that says nothing for so long has lost the connection. */
const silenceMs = 10_000

/** One connection over HTTP/1.1. */
export class Client {
  readonly #socket: TLSSocket
  #text = ''
  #answered: ((body: string | undefined) => void) | undefined
  isClosed = false

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => this.#read(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.isClosed = true
      this.#answer(undefined)
    })
  }

  static async open(port: number, servername: string): Promise<Client> {
    const socket = connect({
      host: '127.0.0.1',
      port,
      servername,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    })
    socket.setTimeout(silenceMs, () => socket.destroy(new Error('no answer')))
    await once(socket, 'secureConnect')
    return new Client(socket)
  }

  /** The body of the answer; undefined where none came. */
  async ask(host: string): Promise<string | undefined> {
    if (this.isClosed) return undefined
    const body = new Promise<string | undefined>((resolve) => (this.#answered = resolve))
    this.#socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    return await body
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(chunk: string): void {
    this.#text += chunk
    const end = this.#text.indexOf('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1])
    if (end === -1 || this.#text.length < end + 4 + length) return
    const isOk = this.#text.startsWith('HTTP/1.1 200')
    const body = this.#text.slice(end + 4, end + 4 + length)
    this.#text = ''
    this.#answer(isOk ? body : undefined)
  }

  #answer(body: string | undefined): void {
    const answered = this.#answered
    this.#answered = undefined
    answered?.(body)
  }
}

/** What came of the traffic so far. */
export interface TrafficCount {
  requests: number
  failed: number
  closed: number
}

/** Traffic on so many connections, for random sites; a connection that closes is counted and opened again. */
export class Traffic {
  readonly count: TrafficCount = { requests: 0, failed: 0, closed: 0 }
  #isEnding = false
  #loops: Promise<void>[] = []

  start(sites: Sites, { port, connections }: { readonly port: number; readonly connections: number }): void {
    this.#loops = Array.from({ length: connections }, () => this.#loop(sites, port))
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await Promise.all(this.#loops)
  }

  async #loop({ count }: Sites, port: number): Promise<void> {
    const random = (): string => hostOf(1 + Math.floor(Math.random() * (count - 1)))
    while (!this.#isEnding) {
      const client = await Client.open(port, random()).catch(() => undefined)
      while (!this.#isEnding && client?.isClosed === false) {
        this.count.requests += 1
        const body = await client.ask(random())
        if (body === undefined && !this.#isEnding) this.count.failed += 1
        // A CDN's connection is not busy all the time, and the machine has other things to do.
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      if (!this.#isEnding) this.count.closed += 1
      client?.close()
    }
  }
}
