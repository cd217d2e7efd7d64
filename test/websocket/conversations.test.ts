// WebSocket end to end: the real client and server on both sides of the gateway, over HTTP/1 and HTTP/2 down.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { makeAuthority, makeCertificate } from '../support/certificates.js'
import { until, within } from '../support/deadline.js'
import { forwardToEndpoint, Gateway } from '../support/gateway.js'
import { portOf } from '../support/port.js'
import { trusting } from '../support/trust.js'
import { opened, type WebSocketWire, webSocketWires } from './clients.js'

for (const wire of webSocketWires) {
  for (const endpoint of ['TCP', 'TLS'] as const) {
    describe(`WebSocket over ${wire.name} to an endpoint over ${endpoint}`, () => conversations(wire, endpoint))
  }
}

const largeBytes = 16 * 1024 * 1024

function conversations(wire: WebSocketWire, endpoint: 'TCP' | 'TLS'): void {
  let server: Server
  let sockets: WebSocketServer
  let gateway: Gateway
  let serving: WebSocket | undefined
  let onSocket: (socket: WebSocket) => void

  before(async () => {
    const authority = await makeAuthority()
    const { cert, key } = await makeCertificate({ names: ['a.example'], issuer: authority })
    server = (endpoint === 'TLS' ? createTlsServer({ cert, key }) : createServer()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true, maxPayload: 4 * largeBytes })
    server.on('upgrade', (request, raw, head) => {
      if (request.url === '/closed') {
        return void raw.end('HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 8\r\n\r\nno entry')
      }
      sockets.handleUpgrade(request, raw, head, (socket) => {
        serving = socket
        onSocket(socket)
      })
    })
    const address = { kind: 'tcp', host: '127.0.0.1', port: portOf(server), tls: endpoint === 'TLS' } as const
    const trust = endpoint === 'TLS' ? { tls: trusting(authority.cert), serverName: 'a.example' } : {}
    const sites = { 'a.example': forwardToEndpoint({ address, ...trust }) }
    gateway = await new Gateway({ sites, protocol: wire.name, tls: { cert, key } }).open()
  })
  beforeEach(() => {
    onSocket = (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
  })
  after(async () => {
    for (const socket of sockets.clients) socket.terminate()
    await gateway.close()
    server.close()
  })

  async function open(wish: Parameters<WebSocketWire['open']>[1] = {}): Promise<WebSocket> {
    return opened(await wire.open(gateway.port, wish))
  }

  async function message(socket: WebSocket): Promise<{ data: Buffer; isBinary: boolean }> {
    const [data, isBinary] = (await within('a message', once(socket, 'message'))) as [RawData, boolean]
    return { data: data as Buffer, isBinary }
  }

  test('texts and bytes come back as they went', async () => {
    const socket = await open()
    for (const sent of ['', 'hello \u2603', Buffer.from([0, 255, 10]), Buffer.alloc(0)]) {
      socket.send(sent)
      const { data, isBinary } = await message(socket)
      assert.deepEqual([data, isBinary], [Buffer.from(sent), typeof sent !== 'string'])
    }
    socket.close()
  })

  test('a message in fragments comes back, with a ping between them', async () => {
    const socket = await open()
    let pinged = ''
    serving?.on('ping', (data) => {
      pinged = String(data)
    })
    socket.send('one ', { fin: false })
    socket.ping('still there?')
    socket.send('two ', { fin: false })
    const pong = once(socket, 'pong')
    socket.send('three', { fin: true })
    assert.equal(String((await message(socket)).data), 'one two three')
    assert.equal(pinged, 'still there?')
    assert.equal(String((await within('the pong', pong))[0]), 'still there?')
    socket.close()
  })

  test('a ping of the server is answered', async () => {
    const socket = await open()
    const pong = once(serving as WebSocket, 'pong')
    serving?.ping('hello')
    assert.equal(String((await within('the pong', pong))[0]), 'hello')
    socket.close()
  })

  test('a message of sixteen megabytes comes back', async () => {
    const socket = await open()
    const sent = Buffer.alloc(largeBytes, 'websocket')
    socket.send(sent)
    assert.ok((await message(socket)).data.equals(sent))
    socket.close()
  })

  test('a thousand messages come back in order', async () => {
    const socket = await open()
    const received: string[] = []
    socket.on('message', (data) => received.push(String(data)))
    for (let index = 0; index < 1000; index++) socket.send(`${index}`)
    await until('the last one', () => received.length === 1000)
    assert.deepEqual(
      received,
      Array.from({ length: 1000 }, (_, index) => `${index}`),
    )
    socket.close()
  })

  test('the subprotocol that the server chooses is the one that the client gets', async () => {
    const socket = await open({ protocols: ['chat.v2', 'chat.v1'] })
    assert.equal(socket.protocol, 'chat.v2')
    assert.equal(serving?.protocol, 'chat.v2')
    socket.close()
  })

  for (const side of ['client', 'server'] as const) {
    test(`a close of the ${side} has its code and its reason at the other, and is answered`, async () => {
      const socket = await open()
      const server = serving as WebSocket
      const ends = [once(socket, 'close'), once(server, 'close')]
      const closer = side === 'client' ? socket : server
      closer.close(4321, 'enough said')
      const codes = await within('both ends', Promise.all(ends))
      for (const [code, reason] of codes) assert.deepEqual([code, String(reason)], [4321, 'enough said'])
    })
  }

  test('a client that breaks off is gone at the server', async () => {
    const socket = await open()
    socket.on('error', () => undefined)
    const ended = once(serving as WebSocket, 'close')
    socket.terminate()
    assert.equal((await within('the end', ended))[0], 1006)
  })

  test('a server that breaks off is gone at the client', async () => {
    const socket = await open()
    socket.on('error', () => undefined)
    const ended = once(socket, 'close')
    serving?.terminate()
    assert.equal((await within('the end', ended))[0], 1006)
  })

  test('a refusal is passed on with its body, and the next one is welcome', async () => {
    const outcome = await wire.open(gateway.port, { path: '/closed' })
    assert.deepEqual(outcome, { status: 401, body: 'no entry' })
    const socket = await open()
    socket.close()
  })

  if (wire.name === 'http/1.1') {
    test('messages are compressed where both sides want it', async () => {
      const socket = await open({ perMessageDeflate: true })
      assert.match(socket.extensions, /permessage-deflate/)
      const sent = 'compress me '.repeat(10_000)
      socket.send(sent)
      assert.equal(String((await message(socket)).data), sent)
      socket.close()
    })
  }

  test('what the server says with its first breath is not lost', async () => {
    onSocket = (socket) => socket.send('welcome')
    const outcome = wire.open(gateway.port)
    const socket = opened(await outcome)
    if (wire.name === 'h2') assert.equal(String((await message(socket)).data), 'welcome')
    socket.close()
  })
}
