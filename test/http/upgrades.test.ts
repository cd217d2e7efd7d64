// Upgrades from any wire to any: WebSocket on HTTP/1 and extended CONNECT on HTTP/2, each with the proof that its own wire asks for.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { acceptOf, WebSocketBridge } from '../../src/http/websocket-bridge.js'
import { Flag } from '../../src/http2/frames.js'
import { HeaderBlock } from '../../src/wire/header-block.js'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, type GatewayOptions } from '../support/gateway.js'
import { RawClient as Http2RawClient, type Pair } from '../support/http2-client.js'
import { RawClient } from '../support/raw-client.js'
import { ScriptedUpstream, type UpstreamConnection } from '../support/scripted-upstream.js'

const handshake =
  'GET /chat?room=1 HTTP/1.1\r\nHost: site.test\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: chat\r\n\r\n'
const sampleAccept = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='

const noSites = { sites: { get: () => undefined } }

const connectFields: readonly Pair[] = [
  [':method', 'CONNECT'],
  [':protocol', 'websocket'],
  [':scheme', 'https'],
  [':authority', 'site.test'],
  [':path', '/chat?room=1'],
  ['sec-websocket-version', '13'],
  ['sec-websocket-protocol', 'chat'],
]

test('the accept value is that of RFC 6455', () => {
  assert.equal(acceptOf('dGhlIHNhbXBsZSBub25jZQ=='), sampleAccept)
})

test('every handshake of ours has a key of its own, sixteen bytes of chance', () => {
  const keys = Array.from({ length: 10 }, () => {
    const headers = new HeaderBlock()
    new WebSocketBridge(headers, 'h2').prepareHttp1(headers)
    return headers.added[1] ?? ''
  })
  assert.equal(new Set(keys).size, 10)
  for (const key of keys) assert.equal(Buffer.from(key, 'base64').length, 16)
})

/** Switches protocols as RFC 6455 says, then echoes. */
function echoing(connection: UpstreamConnection): void {
  const { received, socket } = connection
  const end = received.indexOf('\r\n\r\n')
  const state = connection as UpstreamConnection & { echoed?: number }
  if (end === -1) return
  if (state.echoed === undefined) {
    const key = /^sec-websocket-key: (.*)\r$/im.exec(received)?.[1] ?? ''
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${acceptOf(key)}\r\nSec-WebSocket-Protocol: chat\r\nSet-Cookie: a=b\r\n\r\n`,
    )
  }
  socket.write(received.slice(state.echoed ?? end + 4), 'latin1')
  state.echoed = received.length
}

describe('an upgrade', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  let client: RawClient

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(echoing).open()
  })
  afterEach(async () => {
    await gateway.close()
    await upstream.close()
  })

  async function open(options: Partial<GatewayOptions> = {}): Promise<void> {
    gateway = await new Gateway({ sites: { 'site.test': forwardTo(upstream.port) }, ...options }).open()
  }

  async function onlyLine() {
    await until('the line', () => gateway.entries.length === 1)
    const { method, status, reason, upstreamStatus, bytesReceived, bytesSent } = gateway.entries[0]
    return { method, status, reason, upstreamStatus, bytesReceived, bytesSent }
  }

  describe('over http/1.1', () => {
    async function connect(options: Partial<GatewayOptions> = {}): Promise<void> {
      await open(options)
      client = await RawClient.connect(gateway.port)
    }
    afterEach(() => client.destroy())

    test('is passed on with its own key, and bytes flow both ways until an end, which the log tells', async () => {
      await connect()
      client.send(handshake)
      await client.receives(/^HTTP\/1\.1 101 Switching Protocols\r\n[\s\S]*\r\n\r\n$/)
      assert.match(client.received, new RegExp(`^sec-websocket-accept: ${sampleAccept.replace('+', '\\+')}\r$`, 'im'))
      assert.match(client.received, /^upgrade: websocket\r$/im)
      assert.match(upstream.received, /^Sec-WebSocket-Protocol: chat\r$/m)
      assert.deepEqual(upstream.received.match(/^(?:upgrade|connection):.*$/gim), [
        'connection: upgrade',
        'upgrade: websocket',
      ])
      client.send('hello')
      await client.receives(/hello$/)
      assert.equal(gateway.tunnels.count, 1)
      assert.deepEqual(gateway.entries, [])
      upstream.connections[0]?.socket.end('bye')
      await client.receives(/hellobye$/)
      await client.ends()
      assert.deepEqual(await onlyLine(), {
        ...{ method: 'GET', status: 101, reason: 'ok', upstreamStatus: 101 },
        ...{ bytesReceived: 5, bytesSent: 8 },
      })
      assert.equal(gateway.tunnels.count, 0)
    })

    test('ends at the endpoint when the client leaves', async () => {
      await connect()
      client.send(handshake)
      await client.receives(/\r\n\r\n$/)
      client.socket.resetAndDestroy()
      await upstream.isDeserted()
      assert.equal((await onlyLine()).reason, 'client_gone')
    })

    test('ends at the client when the endpoint breaks', async () => {
      await connect()
      client.send(handshake)
      await client.receives(/\r\n\r\n$/)
      upstream.connections[0]?.socket.resetAndDestroy()
      await client.ends()
      assert.equal((await onlyLine()).reason, 'upstream_reset')
    })

    test('that is refused passes status, headers and body, and the connection goes on', async () => {
      upstream.script = ({ socket }) => socket.write('HTTP/1.1 403 No\r\nX-Why: a\r\nContent-Length: 2\r\n\r\nno')
      await connect()
      client.send(handshake)
      await client.receives(/^HTTP\/1\.1 403 No\r\nX-Why: a\r\n[\s\S]*no$/)
      client.send('GET / HTTP/1.1\r\nHost: site.test\r\n\r\n')
      await until('the second answer', () => client.answers.length === 2)
      assert.equal(gateway.tunnels.count, 0)
    })

    test('of a site that goes is ended', async () => {
      await connect()
      client.send(handshake)
      await client.receives(/\r\n\r\n$/)
      gateway.change(noSites)
      gateway.tunnels.review(0)
      await client.ends()
      await upstream.isDeserted()
      assert.equal((await onlyLine()).reason, 'site_removed')
    })

    test('that a site was asked for which is gone when the endpoint switches is ended at once', async () => {
      upstream.script = () => undefined
      await connect()
      client.send(handshake)
      await upstream.receives(/\r\n\r\n$/)
      gateway.change(noSites)
      echoing(await upstream.accepts(1))
      await client.ends()
      assert.equal((await onlyLine()).reason, 'site_removed')
      assert.equal(gateway.tunnels.count, 0)
    })

    test('of a site that comes back in time stays', async () => {
      await connect()
      client.send(handshake)
      await client.receives(/\r\n\r\n$/)
      const before = gateway.change(noSites)
      gateway.tunnels.review(1)
      let judgements = 0
      const get = (name: string) => {
        judgements += 1
        return before.sites.get(name)
      }
      gateway.change({ sites: { get } })
      await until('the tunnel is judged again', () => judgements > 0)
      client.send('still here')
      await client.receives(/still here$/)
      assert.equal(gateway.tunnels.count, 1)
    })

    test('to h2c is an ordinary request', async () => {
      upstream.script = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      await connect()
      client.send(handshake.replace('WebSocket\r', 'h2c\r'))
      await client.receives(/ok$/)
      assert.doesNotMatch(upstream.received, /^(?:upgrade|connection):/im)
    })
  })

  describe('over h2', () => {
    let client: Http2RawClient

    async function connect(options: Partial<GatewayOptions> = {}): Promise<void> {
      await open({ protocol: 'h2', ...options })
      client = await Http2RawClient.open(gateway.port)
      client.headers(1, connectFields, 0)
    }
    afterEach(() => client.close())

    async function head(): Promise<readonly Pair[]> {
      return (await client.frame((one) => one.streamId === 1 && one.fields.length > 0, 'the head')).fields
    }

    async function receives(text: string): Promise<void> {
      const received = () =>
        client.frames
          .filter(({ type, streamId }) => type === 0 && streamId === 1)
          .map(({ payload }) => String(payload))
          .join('')
      await client.until(() => (received() === text ? true : undefined), `the text ${text}`)
    }

    test('becomes a GET with a key of ours, and bytes flow both ways until an end', async () => {
      await connect()
      const fields = new Map(await head())
      assert.equal(fields.get(':status'), '200')
      assert.equal(fields.get('sec-websocket-protocol'), 'chat')
      assert.equal(fields.get('set-cookie'), 'a=b')
      for (const name of ['sec-websocket-accept', 'upgrade', 'connection']) assert.equal(fields.has(name), false)
      assert.match(upstream.received, /^GET \/chat\?room=1 HTTP\/1\.1\r\n/)
      assert.match(upstream.received, /^sec-websocket-key: \S{24}\r$/m)
      assert.match(upstream.received, /^sec-websocket-version: 13\r$/m)
      client.data(1, 'hello')
      await receives('hello')
      client.data(1, '', Flag.endStream)
      await until('the endpoint hears the end', () => upstream.connections[0]?.socket.readableEnded === true)
      await client.frame((one) => one.streamId === 1 && (one.flags & Flag.endStream) !== 0 && one.type === 0, 'the end')
      const line = await onlyLine()
      assert.deepEqual([line.method, line.status, line.upstreamStatus, line.reason], ['CONNECT', 200, 101, 'ok'])
      assert.deepEqual([line.bytesReceived, line.bytesSent], [5, 5])
    })

    test('ends at the endpoint when the client resets it', async () => {
      await connect()
      await head()
      client.send(3, 0, 1, Buffer.from([0, 0, 0, 8]))
      await upstream.isDeserted()
    })

    test('is 502 where the endpoint does not answer the key', async () => {
      upstream.script = ({ socket }) =>
        socket.write(
          `HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${sampleAccept}\r\n\r\n`,
        )
      await connect()
      assert.equal((await client.answer(1)).status, '502')
      await upstream.isDeserted()
      assert.equal((await onlyLine()).reason, 'upstream_protocol')
    })

    test('is 502 where the endpoint answers 200: that would say that there is a tunnel', async () => {
      upstream.script = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      await connect()
      assert.equal((await client.answer(1)).status, '502')
      await upstream.isDeserted()
    })

    test('that is refused passes status, headers and body', async () => {
      upstream.script = ({ socket }) => socket.write('HTTP/1.1 403 No\r\nX-Why: a\r\nContent-Length: 2\r\n\r\nno')
      await connect()
      const { status, fields, body } = await client.answer(1)
      assert.deepEqual([status, String(body), new Map(fields).get('x-why')], ['403', 'no', 'a'])
    })
  })
})
