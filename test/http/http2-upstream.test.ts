// Forwarding to endpoints that speak HTTP/2: what they get of a request's head, and WebSocket over extended CONNECT.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { acceptOf } from '../../src/http/websocket-bridge.js'
import { until } from '../support/deadline.js'
import { forwardToHttp2, Gateway, type GatewayOptions } from '../support/gateway.js'
import { RawClient as Http2RawClient, type Pair, requestFields } from '../support/http2-client.js'
import { portOf } from '../support/port.js'
import { RawClient } from '../support/raw-client.js'

describe('an endpoint of HTTP/2', () => {
  let server: Http2Server
  let gateway: Gateway
  let heads: Record<string, unknown>[]
  let status: number
  const streams: ServerHttp2Stream[] = []

  beforeEach(async () => {
    heads = []
    status = 200
    server = createServer({ settings: { enableConnectProtocol: true } })
    server.on('stream', (stream, head) => {
      heads.push({ ...head })
      streams.push(stream)
      stream.on('error', () => undefined)
      stream.respond({ ':status': status })
      stream.pipe(stream)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(async () => {
    await gateway.close()
    for (const stream of streams.splice(0)) stream.session?.destroy()
    server.close()
  })

  async function open(protocol: 'http/1.1' | 'h2', policies: GatewayOptions['policies'] = {}): Promise<void> {
    const action = { ...forwardToHttp2(portOf(server)), strippedBytes: '/s'.length }
    gateway = await new Gateway({ sites: { 'site.test': action }, protocol, policies }).open()
  }

  async function askHttp1(bytes: string): Promise<Record<string, unknown>> {
    const client = await RawClient.connect(gateway.port)
    try {
      client.send(bytes)
      await client.receives(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n/)
      return heads[0]
    } finally {
      client.destroy()
    }
  }

  test('gets the parts of the head, without Host, framing and the lines of a connection', async () => {
    await open('http/1.1')
    const head = await askHttp1(
      'POST /s/x?y HTTP/1.1\r\nHost: site.test\r\nConnection: X-Gone\r\nX-Gone: 1\r\nX-Kept: 1\r\nTE: deflate, trailers\r\nContent-Length: 5\r\n\r\nhello',
    )
    assert.deepEqual(
      [head[':method'], head[':scheme'], head[':authority'], head[':path']],
      ['POST', 'http', 'site.test', '/x?y'],
    )
    assert.deepEqual(
      [head['x-kept'], head['te'], head['content-length'], head['via']],
      ['1', 'trailers', '5', '1.1 hostward'],
    )
    for (const name of ['host', 'x-gone', 'connection', 'transfer-encoding']) assert.equal(name in head, false)
  })

  test('is not told of trailers that the client does not take, and gets the Host that the site sets', async () => {
    await open('http/1.1', { 'site.test': { upstreamHost: 'internal.example:1' } })
    const head = await askHttp1('GET /s HTTP/1.1\r\nHost: site.test\r\nTE: deflate;q=0.5\r\n\r\n')
    assert.deepEqual([head[':authority'], head[':path'], 'te' in head], ['internal.example:1', '/', false])
  })

  // A client of HTTP/1 that counts statuses by their phrases would take an answer without one for none.
  for (const [answered, line] of [
    [200, 'HTTP/1.1 200 OK'],
    [206, 'HTTP/1.1 206 Partial Content'],
    [599, 'HTTP/1.1 599 '],
  ] as const) {
    test(`is answered for on HTTP/1.1 with "${line}"`, async () => {
      status = answered
      await open('http/1.1')
      const client = await RawClient.connect(gateway.port)
      client.send('GET /s HTTP/1.1\r\nHost: site.test\r\n\r\n')
      await client.receives(/^HTTP[\s\S]*\r\n\r\n/)
      assert.equal(client.received.slice(0, client.received.indexOf('\r\n')), line)
      client.destroy()
    })
  }

  test('is told that the client takes trailers over h2 too', async () => {
    await open('h2')
    const client = await Http2RawClient.open(gateway.port)
    client.headers(1, requestFields([['te', 'trailers']]))
    assert.equal((await client.answer(1)).status, '200')
    assert.equal(heads[0]?.['te'], 'trailers')
    client.close()
  })

  test('takes the WebSocket of an HTTP/1.1 client as an extended CONNECT, and the client gets its proof', async () => {
    await open('http/1.1')
    const client = await RawClient.connect(gateway.port)
    const key = 'dGhlIHNhbXBsZSBub25jZQ=='
    client.send(
      `GET /s/chat HTTP/1.1\r\nHost: site.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    )
    await client.receives(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\n$/)
    assert.ok(client.received.includes(`sec-websocket-accept: ${acceptOf(key)}\r\n`))
    const head = heads[0] ?? {}
    assert.deepEqual([head[':method'], head[':protocol'], head[':path']], ['CONNECT', 'websocket', '/chat'])
    assert.equal('sec-websocket-key' in head, false)
    client.send('hello')
    await client.receives(/hello$/)
    client.destroy()
    await until('the line', () => gateway.entries.length === 1)
    assert.equal(gateway.entries[0]?.status, 101)
  })

  test('takes the extended CONNECT of an h2 client', async () => {
    await open('h2')
    const client = await Http2RawClient.open(gateway.port)
    const fields: Pair[] = [
      [':method', 'CONNECT'],
      [':protocol', 'websocket'],
      [':scheme', 'https'],
      [':authority', 'site.test'],
      [':path', '/s/chat'],
    ]
    client.headers(1, fields, 0)
    const head = await client.frame((one) => one.streamId === 1 && one.fields.length > 0, 'the head')
    assert.equal(new Map(head.fields).get(':status'), '200')
    assert.equal(new Map(head.fields).has('sec-websocket-accept'), false)
    client.data(1, 'hello')
    await client.frame((one) => one.streamId === 1 && one.type === 0 && String(one.payload) === 'hello', 'the echo')
    client.close()
  })
})
