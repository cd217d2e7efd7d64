// What stands behind an upload on its connection: that its last bytes found no room must never keep it from being read.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { Http1ServerConnection } from '../../src/http1/server-connection.js'
import type { BodySink, BodySource } from '../../src/wire/body.js'
import type { Downstream, RequestService } from '../../src/wire/downstream.js'
import { HeaderBlock } from '../../src/wire/header-block.js'
import { until } from '../support/deadline.js'
import { connectionOf } from '../support/gateway.js'
import { portOf } from '../support/port.js'
import { RawClient } from '../support/raw-client.js'

const piece = 'x'.repeat(1000)
const uploads = {
  'by length': `POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1000\r\n\r\n${piece}`,
  'in chunks': `POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n${piece}\r\n0\r\n\r\n`,
}
const get = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'
const limits = { headerBytes: 65_536, headerCount: 256, targetBytes: 16_384, pipelined: 16, bodyBytesPerSecondMin: 100 }

/** Has no room behind any chunk and soon asks for more, but for nothing once it has all: who waits for no more, asks for none. */
class FullSink implements BodySink {
  readonly #source: BodySource
  readonly #onEnd: () => void
  #isEnded = false

  constructor(source: BodySource, onEnd: () => void) {
    this.#source = source
    this.#onEnd = onEnd
  }

  write(): boolean {
    setImmediate(() => {
      if (!this.#isEnded) this.#source.resume()
    })
    return false
  }

  end(): void {
    this.#isEnded = true
    this.#onEnd()
  }

  abort(): void {}
}

/** Answers every request with its number, an upload once it has it all and `isHeld` is false. */
class Answerer implements RequestService {
  readonly broken: string[] = []
  isHeld = false
  #count = 0
  #waiting: Downstream | undefined

  handle(downstream: Downstream): void {
    const { body } = downstream.request
    downstream.observer = { onSent: () => undefined, onBroken: ({ code }) => this.broken.push(code) }
    if (body === undefined) this.#answer(downstream)
    else body.flow(new FullSink(body, () => this.#onUploaded(downstream)))
  }

  refused(): void {}

  get hasUpload(): boolean {
    return this.#waiting !== undefined
  }

  #onUploaded(downstream: Downstream): void {
    if (this.isHeld) this.#waiting = downstream
    else this.#answer(downstream)
  }

  #answer(downstream: Downstream): void {
    this.#count++
    downstream.respond({ status: 204, reason: `Answer ${this.#count}`, headers: new HeaderBlock() }, undefined)
  }
}

describe('behind an upload whose last bytes found no room:', () => {
  let server: Server
  let service: Answerer
  let client: RawClient

  beforeEach(async () => {
    service = new Answerer()
    server = createServer(serve)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    client = await RawClient.connect(portOf(server))
  })
  afterEach(() => {
    client.destroy()
    server.close()
  })

  function serve(socket: Socket): void {
    new Http1ServerConnection({
      socket,
      connection: connectionOf('127.0.0.1:1'),
      service,
      limits: () => limits,
      timeouts: () => ({ headersMs: 60_000, bodyIdleMs: 60_000, idleMs: 60_000 }),
    })
  }

  for (const [framing, upload] of Object.entries(uploads)) {
    test(`the next request of the connection is answered (${framing})`, async () => {
      client.send(upload)
      await client.receives(/ 204 Answer 1\r\n/)
      client.send(get)
      await client.receives(/ 204 Answer 2\r\n/)
    })

    test(`a request that came with it is answered (${framing})`, async () => {
      client.send(upload + get)
      await client.receives(/ 204 Answer 1\r\n[\s\S]* 204 Answer 2\r\n/)
    })

    test(`a client that leaves before the answer is noticed (${framing})`, async () => {
      service.isHeld = true
      client.send(upload)
      await until('the upload', () => service.hasUpload)
      client.destroy()
      await until('the end', () => service.broken.length > 0)
      assert.deepEqual(service.broken, ['client_gone'])
    })
  }
})
