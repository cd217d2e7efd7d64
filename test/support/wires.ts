// Clients of the wires that Hostward speaks, behind one face, so that a story is told once for all of them.
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { until, within } from './deadline.js'

/** An answer, read whole. */
export interface Answer {
  readonly status: number
  readonly body: string
  /** Whether the server has announced that the connection ends: `Connection: close`, or GOAWAY. */
  readonly isLast: boolean
}

/** One connection of a client, over which requests for any host go. */
export interface WireConnection {
  /** The certificate that the server showed. */
  readonly fingerprint256: string
  readonly isClosed: boolean
  /** Asks at once, whatever is under way; rejects where the connection ends before the answer is whole. */
  ask(host: string, path?: string): Promise<Answer>
  /** Resolves once the server has ended the connection. */
  ended(): Promise<void>
  close(): void
}

/** Whom to connect to; without a server name none is sent. */
export interface Target {
  readonly port: number
  readonly servername?: string | undefined
  readonly tls?: ConnectionOptions
}

/** A protocol and how to open a connection that speaks it. */
export interface Wire {
  readonly name: 'http/1.1' | 'h2'
  connect(target: Target): Promise<WireConnection>
}

const http1: Wire = { name: 'http/1.1', connect: async (target) => new Http1Client(await openTls(target, 'http/1.1')) }
const http2: Wire = { name: 'h2', connect: async (target) => new Http2Client(await openTls(target, 'h2')) }

/** Every wire that Hostward speaks. */
export const wires: readonly Wire[] = [http1, http2]

/** Opens a TLS connection, and trusts whatever certificate is shown: tests compare it themselves. */
export async function openTls({ port, servername, tls }: Target, protocol: string): Promise<TLSSocket> {
  const named = servername === undefined ? {} : { servername }
  const options = { host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [protocol], ...named, ...tls }
  const socket = connect(options)
  await within(`a handshake with ${servername ?? 'no name'}`, once(socket, 'secureConnect'))
  return socket
}

/** A connection of HTTP/1.1 over TLS, for tests that are about that wire. */
export async function connectHttp1(target: Target): Promise<Http1Client> {
  return new Http1Client(await openTls(target, 'http/1.1'))
}

interface Waiting {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/** HTTP/1.1 with a few requests in the pipe, never more than the default of `limits.pipelined`. */
export class Http1Client implements WireConnection {
  readonly socket: TLSSocket
  readonly fingerprint256: string
  isClosed = false
  #received: Buffer = Buffer.alloc(0)
  readonly #unsent: string[] = []
  readonly #waiting: Waiting[] = []
  #inPipe = 0

  constructor(socket: TLSSocket) {
    this.socket = socket
    this.fingerprint256 = socket.getPeerCertificate().fingerprint256
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    // 'close' follows and tells those who wait.
    socket.on('error', () => undefined)
    socket.on('close', () => this.#onClose())
    socket.on('end', () => this.#onClose())
  }

  ask(host: string, path = '/'): Promise<Answer> {
    return within(
      `an answer of ${host} to ${path}`,
      new Promise<Answer>((resolve, reject) => {
        if (this.isClosed) reject(new Error('the connection is closed'))
        this.#waiting.push({ resolve, reject })
        this.#unsent.push(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
        this.#send()
      }),
    )
  }

  async ended(): Promise<void> {
    await until('the server ends the connection', () => this.isClosed)
  }

  close(): void {
    this.socket.destroy()
  }

  #send(): void {
    while (this.#inPipe < pipelinedMax) {
      const request = this.#unsent.shift()
      if (request === undefined) return
      this.#inPipe += 1
      this.socket.write(request)
    }
  }

  #onData(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    for (let answer = this.#takeAnswer(); answer !== undefined; answer = this.#takeAnswer()) {
      this.#inPipe -= 1
      this.#waiting.shift()?.resolve(answer)
      this.#send()
    }
  }

  #takeAnswer(): Answer | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd === -1) return undefined
    const head = this.#received.toString('latin1', 0, headEnd)
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1])
    const end = headEnd + 4 + length
    if (this.#received.length < end) return undefined
    const body = this.#received.toString('utf8', headEnd + 4, end)
    this.#received = this.#received.subarray(end)
    return { status: Number(head.slice(9, 12)), body, isLast: /^connection: close$/im.test(head) }
  }

  #onClose(): void {
    this.isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the connection ended before the answer'))
  }
}

const pipelinedMax = 8

class Http2Client implements WireConnection {
  readonly fingerprint256: string
  readonly #session: ClientHttp2Session
  #isLast = false

  constructor(socket: TLSSocket) {
    this.fingerprint256 = socket.getPeerCertificate().fingerprint256
    this.#session = connectHttp2('https://localhost', { createConnection: () => socket })
    // Streams tell those who wait.
    this.#session.on('error', () => undefined)
    this.#session.on('goaway', () => {
      this.#isLast = true
    })
  }

  get isClosed(): boolean {
    return this.#session.closed || this.#session.destroyed
  }

  ask(host: string, path = '/'): Promise<Answer> {
    const stream = this.#session.request({ ':authority': host, ':path': path })
    let status = 0
    let body = ''
    let isWhole = false
    stream.setEncoding('utf8')
    stream.on('response', (headers) => {
      status = Number(headers[':status'])
    })
    stream.on('data', (text: string) => {
      body += text
    })
    stream.on('end', () => {
      isWhole = status !== 0 && !stream.aborted
    })
    const answer = new Promise<Answer>((resolve, reject) => {
      stream.on('error', reject)
      stream.on('close', () => {
        if (isWhole && stream.rstCode === 0) resolve({ status, body, isLast: this.#isLast })
        else reject(new Error('the stream ended before the answer'))
      })
    })
    return within(`an answer of ${host} to ${path}`, answer)
  }

  async ended(): Promise<void> {
    await until('the server ends the connection', () => this.isClosed)
  }

  close(): void {
    this.#session.destroy()
  }
}
