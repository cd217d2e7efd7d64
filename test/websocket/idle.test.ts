// Sockets on which nobody says anything for a long time: they live by `tunnelIdleMs` alone, whatever bodies and answers may take.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { http1Wire } from '../contract/http1-wire.js'
import { http2Wire } from '../contract/http2-wire.js'
import { makeCertificate } from '../support/certificates.js'
import { until, within } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { portOf } from '../support/port.js'
import { opened, webSocketWires } from './clients.js'

const shortMs = 150

for (const wire of webSocketWires) {
  describe(`an idle socket over ${wire.name}`, () => {
    let server: Server
    let sockets: WebSocketServer
    let gateway: Gateway

    beforeEach(async () => {
      server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      sockets = new WebSocketServer({ server })
      sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(String(data))))
    })
    afterEach(async () => {
      for (const socket of sockets.clients) socket.terminate()
      await gateway.close()
      server.close()
    })

    async function open(tunnelIdleMs: number): Promise<void> {
      const { cert, key } = await makeCertificate({ names: ['a.example'] })
      const quick = { bodyIdleMs: shortMs, responseMs: shortMs, idleMs: shortMs, tunnelIdleMs }
      gateway = await new Gateway({
        sites: { 'a.example': forwardTo(portOf(server), quick) },
        protocol: wire.name,
        tls: { cert, key },
        timeouts: { bodyIdleMs: shortMs, idleMs: shortMs, headersMs: shortMs },
      }).open()
    }

    /** A body stands still for longer than any body may; resolves when that is told. */
    async function bodyTimesOut(): Promise<void> {
      const client = (wire.name === 'h2' ? http2Wire : http1Wire).connect(gateway.port, 'tls')
      const before = gateway.entries.length
      const { response } = client.request({ host: 'a.example', method: 'POST', body: ['x'], isOpenEnded: true })
      response.catch(() => undefined)
      await until('the line', () => gateway.entries.length > before)
      client.close()
    }

    test('lives on while bodies that stand still as long do not', async () => {
      await open(60_000)
      const socket = opened(await wire.open(gateway.port))
      for (let count = 0; count < 3; count++) await bodyTimesOut()
      const message = once(socket, 'message')
      socket.send('still there')
      assert.equal(String((await within('the echo', message))[0]), 'still there')
      socket.close()
    })

    test('ends on both sides once it has said nothing for tunnelIdleMs, and the line says so', async () => {
      await open(shortMs)
      const socket = opened(await wire.open(gateway.port))
      socket.on('error', () => undefined)
      await until('both ends', () => socket.readyState === WebSocket.CLOSED && sockets.clients.size === 0)
      await until('the line', () => gateway.entries.length > 0)
      const [{ reason, detail } = { reason: '', detail: '' }] = gateway.entries
      assert.equal(reason, 'upstream_timeout')
      assert.match(detail ?? '', /tunnel/)
    })
  })
}
