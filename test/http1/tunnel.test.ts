import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { Http1ClientConnection } from '../../src/http1/client-connection.js'
import { Http1ServerConnection } from '../../src/http1/server-connection.js'
import type { ClientConnectionOwner, Transport } from '../../src/wire/client-connection.js'
import type { Downstream, RequestService } from '../../src/wire/downstream.js'
import type { Failure } from '../../src/wire/failure.js'
import { until } from '../support/deadline.js'
import { connectionOf } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ScriptedUpstream } from '../support/scripted-upstream.js'

const asked = 'GET /chat HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: Chat/2\r\n\r\n'
const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat/2\r\nX-Room: 1\r\n\r\n'
const timeouts = { responseMs: 60_000, bodyIdleMs: 60_000, idleMs: 60_000, tunnelIdleMs: 60_000 }

/** Both sides of the codec back to back: what forwarding does with them is its own. */
class Bridge implements RequestService, ClientConnectionOwner {
  readonly upgrades: (string | undefined)[] = []
  readonly ends: string[] = []
  readonly #server: Server
  readonly #endpointPort: number
  readonly #tunnelIdleMs: number

  constructor(endpointPort: number, tunnelIdleMs = 60_000) {
    this.#endpointPort = endpointPort
    this.#tunnelIdleMs = tunnelIdleMs
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket))
  }

  async open(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as { port: number }).port
  }

  async close(): Promise<void> {
    this.#server.close()
    await once(this.#server, 'close')
  }

  handle(downstream: Downstream): void {
    const { request } = downstream
    this.upgrades.push(request.upgrade)
    const socket = connect({ port: this.#endpointPort, host: '127.0.0.1' })
    const transport: Transport = { socket, onBytes: () => undefined }
    socket.on('data', (chunk) => transport.onBytes(chunk))
    const connection = new Http1ClientConnection({
      transport,
      timeouts: { ...timeouts, tunnelIdleMs: this.#tunnelIdleMs },
      limits: { headerBytes: 65_536, headerCount: 256 },
      owner: this,
    })
    downstream.observer = {
      onSent: () => this.ends.push('sent'),
      onBroken: ({ code }) => this.ends.push(code),
    }
    const outgoing = {
      method: request.method,
      head: Buffer.from(asked, 'latin1'),
      fields: undefined,
      body: request.body,
      upgrade: request.upgrade,
    }
    connection.send(outgoing, {
      onInformational: (head) => downstream.inform(head),
      onResponse: (head, body) => downstream.respond(head, body),
      onUpgrade: (head, tunnel) => {
        head.headers.drop(0)
        head.headers.drop(1)
        tunnel.carry(downstream.switchProtocols(head, tunnel.source))
      },
      onFailure: (failure) => this.#fail(downstream, failure),
    })
  }

  refused(): void {}
  onAvailable(): void {}
  onClosed(): void {}
  onAnswered(): void {}
  onFailed(): void {}

  #fail(downstream: Downstream, failure: Failure): void {
    this.ends.push(failure.detail)
    downstream.reset(failure)
  }

  #accept(socket: Socket): void {
    const limits = {
      headerBytes: 65_536,
      headerCount: 256,
      targetBytes: 16_384,
      pipelined: 16,
      bodyBytesPerSecondMin: 100,
    }
    new Http1ServerConnection({
      socket,
      connection: connectionOf('127.0.0.1:1'),
      service: this,
      limits: () => limits,
      timeouts: () => ({ headersMs: 60_000, bodyIdleMs: 60_000, idleMs: 60_000 }),
    })
  }
}

describe('a switch of protocols on HTTP/1:', () => {
  let upstream: ScriptedUpstream
  let bridge: Bridge
  let client: RawClient

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(() => undefined).open()
    await open()
  })
  afterEach(close)

  async function open(tunnelIdleMs?: number): Promise<void> {
    bridge = new Bridge(upstream.port, tunnelIdleMs)
    client = await RawClient.connect(await bridge.open())
  }

  async function close(): Promise<void> {
    client.destroy()
    await upstream.close()
    await bridge.close()
  }

  /** Opens a tunnel and returns the endpoint's end of it. */
  async function tunnel(): Promise<Socket> {
    client.send(asked)
    const { socket } = await upstream.accepts(1)
    await upstream.receives(/\r\n\r\n$/)
    socket.write(switched)
    await client.receives(/\r\n\r\n$/)
    return socket
  }

  test('the client gets 101 with the lines of the endpoint, then bytes flow both ways as they are', async () => {
    const socket = await tunnel()
    assert.match(
      client.received,
      /^HTTP\/1.1 101 Switching Protocols\r\nX-Room: 1\r\nconnection: upgrade\r\nupgrade: chat\/2\r\n\r\n$/,
    )
    const anything = 'GET / HTTP/1.1\r\n\r\n\x00\xff0\r\n\r\n'
    client.send(anything)
    await upstream.receives(/0\r\n\r\n$/)
    assert.ok(upstream.received.endsWith(anything))
    socket.write(anything, 'latin1')
    await until('the client has it too', () => client.received.endsWith(anything))
    assert.deepEqual(bridge.upgrades, ['chat/2'])
  })

  test('bytes behind the 101 in the same segment are the first of the tunnel', async () => {
    client.send(asked)
    const { socket } = await upstream.accepts(1)
    await upstream.receives(/\r\n\r\n$/)
    socket.write(`${switched}hello`)
    await client.receives(/\r\n\r\nhello$/)
  })

  test('bytes sent before the 101 wait for it and reach the endpoint', async () => {
    client.send(`${asked}early`)
    const { socket } = await upstream.accepts(1)
    await upstream.receives(/\r\n\r\n$/)
    socket.write(switched)
    await upstream.receives(/\r\n\r\nearly$/)
    client.send(' bird')
    await upstream.receives(/early bird$/)
  })

  // They were meant for another protocol: read as HTTP they would be a request that somebody else may have written.
  test('bytes sent before a refusal are never taken for a request, and the connection ends', async () => {
    client.send(`${asked}GET /smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n`)
    const { socket } = await upstream.accepts(1)
    await upstream.receives(/\r\n\r\n$/)
    socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: no\r\n\r\nno')
    await client.ends()
    assert.match(client.received, /^HTTP\/1.1 403 Forbidden\r\n.*X-Why: no\r\n.*connection: close\r\n\r\nno$/s)
    assert.equal(bridge.upgrades.length, 1)
    assert.doesNotMatch(upstream.received, /smuggled/)
  })

  test('a refusal without such bytes leaves the connection to the next request', async () => {
    client.send(asked)
    const { socket } = await upstream.accepts(1)
    await upstream.receives(/\r\n\r\n$/)
    socket.write('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n')
    await client.receives(/426 .*\r\n\r\n$/s)
    client.send(asked)
    await upstream.accepts(2)
    assert.doesNotMatch(client.received, /close/)
  })

  test("the endpoint's end ends the tunnel behind its last byte", async () => {
    const socket = await tunnel()
    socket.end('farewell')
    await client.ends()
    assert.ok(client.received.endsWith('farewell'))
    assert.deepEqual(bridge.ends, ['sent'])
    await upstream.isDeserted()
  })

  test("the client's end is carried on, and the endpoint may still answer", async () => {
    const socket = await tunnel()
    client.socket.end('that is all')
    await upstream.receives(/that is all$/)
    await until('the endpoint hears the end', () => socket.readableEnded)
    await upstream.isDeserted()
    await client.ends()
    assert.deepEqual(bridge.ends, ['sent'])
  })

  test("the client's reset ends the endpoint's connection", async () => {
    await tunnel()
    client.socket.resetAndDestroy()
    await upstream.isDeserted()
    assert.deepEqual(bridge.ends, ['client_gone'])
  })

  test("the endpoint's reset reaches the client as one", async () => {
    const socket = await tunnel()
    socket.resetAndDestroy()
    await client.ends()
    assert.ok(client.wasReset)
    assert.deepEqual(bridge.ends, ['upstream_reset'])
  })

  test('a tunnel in which nothing moves is ended', async () => {
    await close()
    upstream = await new ScriptedUpstream(() => undefined).open()
    await open(200)
    await tunnel()
    await client.ends()
    await upstream.isDeserted()
    assert.deepEqual(bridge.ends, ['upstream_timeout'])
  })

  test('a slow reader holds the endpoint back, and loses nothing', async () => {
    const socket = await tunnel()
    const bytes = 8 * 1024 * 1024
    const before = client.received.length
    client.socket.pause()
    socket.write(Buffer.alloc(bytes, 'x'))
    await until('the endpoint is held back', () => socket.writableLength > 0)
    client.socket.resume()
    await until('everything has come', () => client.received.length === before + bytes)
  })

  for (const [lines, why] of [
    ['Connection: Upgrade\r\nUpgrade: h2c\r\n', 'HTTP/2 behind it would be requests that nobody routes'],
    ['Connection: Upgrade\r\nUpgrade: HTTP/2.0\r\n', 'so would any HTTP'],
    ['Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n', 'TLS would be bytes that nobody reads'],
    ['Connection: Upgrade\r\nUpgrade: chat/2, h2c\r\n', 'a choice is not made for the client'],
    ['Connection: Upgrade\r\nUpgrade: chat/2\r\nUpgrade: h2c\r\n', 'nor in two lines'],
    ['Connection: Upgrade\r\nUpgrade: chat/2/3\r\n', 'not a protocol'],
    ['Upgrade: chat/2\r\n', 'not for this hop'],
    ['Connection: Upgrade\r\nUpgrade: chat/2\r\nContent-Length: 1\r\n', 'a body would stand before the switch'],
  ] as const) {
    test(`${JSON.stringify(lines)} is not followed: ${why}`, async () => {
      client.send(`GET / HTTP/1.1\r\nHost: a.example\r\n${lines}\r\nx`)
      await until('the request has come', () => bridge.upgrades.length > 0)
      assert.deepEqual(bridge.upgrades, [undefined])
    })
  }

  test('HTTP/1.0 knows no upgrades', async () => {
    client.send(asked.replace('1.1', '1.0'))
    await until('the request has come', () => bridge.upgrades.length > 0)
    assert.deepEqual(bridge.upgrades, [undefined])
  })

  for (const [answer, detail] of [
    [switched.replace('chat/2', 'websocket'), 'an upgrade to something else'],
    [switched.replace('Upgrade: chat/2\r\n', ''), 'an upgrade to something else'],
    [switched.replace('Connection: upgrade\r\n', ''), 'an upgrade to something else'],
  ] as const) {
    test(`the endpoint's ${JSON.stringify(answer)} is not a switch to what was asked for`, async () => {
      client.send(asked)
      const { socket } = await upstream.accepts(1)
      await upstream.receives(/\r\n\r\n$/)
      socket.write(answer)
      await client.ends()
      assert.deepEqual(bridge.ends.slice(0, 1), [detail])
      assert.doesNotMatch(client.received, /101/)
    })
  }
})
