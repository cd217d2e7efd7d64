// A server of plain sockets around the codec, and handlers to put behind it.

import type { AddressInfo } from 'node:net'
import { createServer, type Server } from 'node:net'
import { Http2Connection } from '../../src/http2/connection.js'
import type { Http2Limits } from '../../src/http2/limits.js'
import type { BodySink, BodySource } from '../../src/wire/body.js'
import { unknownLength } from '../../src/wire/body.js'
import type { Connection } from '../../src/wire/connection.js'
import type { Downstream, ExchangeObserver, Refusal, WireLimits, WireTimeouts } from '../../src/wire/downstream.js'
import type { Failure } from '../../src/wire/failure.js'
import { HeaderBlock } from '../../src/wire/header-block.js'
import { RawClient } from '../support/http2-client.js'
import { defaultHttp2Limits } from '../support/http2-limits.js'

/** What a request looked like to the handler. */
export interface Seen {
  readonly method: string
  readonly target: string
  readonly authority: string | undefined
  readonly lines: string[]
}

export type Handler = (downstream: Downstream) => void

const connection: Connection = {
  id: 'c1',
  listener: 'public',
  peer: '127.0.0.1:1',
  peerAddress: '127.0.0.1',
  local: '127.0.0.1:2',
  claimed: null,
  claimedAddress: null,
  claimedBy: null,
  sni: null,
  tlsVersion: null,
  clientProof: undefined,
}

const wireLimits: WireLimits = {
  headerBytes: 65_536,
  headerCount: 256,
  targetBytes: 16_384,
  pipelined: 16,
  bodyBytesPerSecondMin: 100,
}
const wireTimeouts: WireTimeouts = { headersMs: 15_000, bodyIdleMs: 60_000, idleMs: 920_000 }

/** A running server. */
export class TestServer {
  readonly seen: Seen[] = []
  readonly refusals: Refusal[] = []
  /** How exchanges ended: `sent`, or the code of the failure. */
  readonly ends: string[] = []
  readonly connections: Http2Connection[] = []
  /** Time that passed beyond what the clock says. */
  elapsedMs = 0
  readonly #server: Server
  readonly #clients: RawClient[] = []

  private constructor(handler: Handler, limits: Partial<WireLimits & Http2Limits>, timeouts: Partial<WireTimeouts>) {
    this.#server = createServer((socket) => {
      socket.setNoDelay(true)
      const served = new Http2Connection({
        socket,
        connection,
        limits: () => ({ ...wireLimits, ...defaultHttp2Limits, ...limits }),
        timeouts: () => ({ ...wireTimeouts, ...timeouts }),
        nowMs: () => performance.now() + this.elapsedMs,
        service: {
          handle: (downstream) => this.#handle(downstream, handler),
          refused: (refusal) => this.refusals.push(refusal),
        },
      })
      this.connections.push(served)
    })
  }

  static async start(
    handler: Handler = answerHello,
    more: { limits?: Partial<WireLimits & Http2Limits>; timeouts?: Partial<WireTimeouts> } = {},
  ): Promise<TestServer> {
    const server = new TestServer(handler, more.limits ?? {}, more.timeouts ?? {})
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async client(hello: readonly (readonly [number, number])[] = []): Promise<RawClient> {
    const client = await RawClient.open(this.port, hello)
    this.#clients.push(client)
    return client
  }

  /** A client that has said nothing yet. */
  async silentClient(): Promise<RawClient> {
    const client = await RawClient.connect(this.port)
    this.#clients.push(client)
    return client
  }

  close(): void {
    for (const client of this.#clients) client.close()
    for (const served of this.connections) served.destroy()
    this.#server.close()
  }

  #handle(downstream: Downstream, handler: Handler): void {
    const { method, target, authority, headers } = downstream.request
    const lines: string[] = []
    for (let at = 0; at < headers.count; at++) {
      if (headers.ids[at] !== 255) lines.push(`${headers.nameOf(at)}: ${headers.valueOf(at)}`)
    }
    this.seen.push({ method, target, authority, lines })
    downstream.observer = this.#observer()
    handler(downstream)
  }

  #observer(): ExchangeObserver {
    return { onSent: () => this.ends.push('sent'), onBroken: (failure: Failure) => this.ends.push(failure.code) }
  }
}

/** Runs a test with a server and closes it. */
export async function withServer(
  run: (server: TestServer) => Promise<void>,
  handler?: Handler,
  more: { limits?: Partial<WireLimits & Http2Limits>; timeouts?: Partial<WireTimeouts> } = {},
): Promise<void> {
  const server = await TestServer.start(handler, more)
  try {
    await run(server)
  } finally {
    server.close()
  }
}

/** A header block of lines of our own. */
export function fieldsOf(...pairs: readonly (readonly [name: string, value: string])[]): HeaderBlock {
  const block = new HeaderBlock()
  for (const [name, value] of pairs) block.add(name, value)
  return block
}

/** 200 with a short body. */
export function answerHello(downstream: Downstream): void {
  const headers = fieldsOf(['content-type', 'text/plain'])
  downstream.respond({ status: 200, reason: 'OK', headers }, new ChunkSource([Buffer.from('hello\n')]))
}

/** 200 with the request's body. */
export function answerEcho(downstream: Downstream): void {
  const { body } = downstream.request
  downstream.respond({ status: 200, reason: 'OK', headers: fieldsOf() }, body)
}

/** A body of chunks that stops when its sink is full. */
export class ChunkSource implements BodySource {
  readonly lengthBytes: number
  readonly trailers: HeaderBlock | undefined
  aborted: Failure | undefined
  /** Chunks given to the sink so far. */
  given = 0
  #sink: BodySink | undefined
  #chunks: Iterator<Buffer>

  constructor(chunks: Iterable<Buffer>, more: { lengthBytes?: number; trailers?: HeaderBlock } = {}) {
    this.#chunks = chunks[Symbol.iterator]()
    this.lengthBytes = more.lengthBytes ?? unknownLength
    this.trailers = more.trailers
  }

  flow(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }

  resume(): void {
    while (this.aborted === undefined) {
      const next = this.#chunks.next()
      if (next.done) {
        this.#sink?.end(this.trailers)
        return
      }
      this.given++
      if (this.#sink?.write(next.value) === false) return
    }
  }

  abort(failure: Failure): void {
    this.aborted = failure
  }
}

/** A sink that takes everything, or stops when told. */
export class CountingSink implements BodySink {
  bytes = 0
  isFull = false
  ended: 'no' | 'end' | 'abort' = 'no'
  trailers: string[] = []
  failure: Failure | undefined

  write(chunk: Buffer): boolean {
    this.bytes += chunk.length
    return !this.isFull
  }

  end(trailers: HeaderBlock | undefined): void {
    this.ended = 'end'
    if (trailers === undefined) return
    for (let at = 0; at < trailers.count; at++) this.trailers.push(`${trailers.nameOf(at)}: ${trailers.valueOf(at)}`)
  }

  abort(failure: Failure): void {
    this.ended = 'abort'
    this.failure = failure
  }
}
