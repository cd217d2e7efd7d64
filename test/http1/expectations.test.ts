import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, respondWith } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'

const head = 'POST / HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n'
const get = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'

describe('a client that waits for 100', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  let client: RawClient

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(() => undefined).open()
    const sites = { 'a.example': forwardTo(upstream.port), 'b.example': respondWith('b') }
    gateway = await new Gateway({ sites }).open()
    client = await RawClient.connect(gateway.port)
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
    await upstream.close()
  })

  test('gets the one of the endpoint, before it sends a byte of its body', async () => {
    client.send(head)
    await upstream.receives(/Expect: 100-continue\r\n[\s\S]*\r\n\r\n$/)
    assert.equal(client.received, '')
    const { socket } = await upstream.accepts(1)
    socket.write('HTTP/1.1 100 Continue\r\n\r\n')
    await client.receives(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    client.send('hello')
    await upstream.receives(/\r\n\r\nhello$/)
    socket.write(response('thanks'))
    await client.receives(/thanks$/)
    assert.deepEqual(client.statuses, [100, 200])
    assert.doesNotMatch(client.received, /connection: close/)
  })

  test('gets a final answer instead, and the connection ends: nobody knows whether a body follows', async () => {
    client.send(head)
    const { socket } = await upstream.accepts(1)
    await upstream.receives(/\r\n\r\n$/)
    socket.write('HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno')
    await client.receives(/^HTTP\/1\.1 401 [\s\S]*connection: close\r\n\r\nno$/)
    await client.ends()
    await upstream.isDeserted()
    assert.equal(gateway.entries[0]?.reason, 'ok')
  })

  test('gets the answer of a site without an endpoint, and the connection ends', async () => {
    client.send(head.replace('a.example', 'b.example'))
    await client.receives(/^HTTP\/1\.1 200 [\s\S]*connection: close\r\n\r\nb$/)
    await client.ends()
  })

  test('gets 421 for an unknown host, and the connection ends', async () => {
    client.send(head.replace('a.example', 'c.example'))
    await client.receives(/^HTTP\/1\.1 421 [\s\S]*connection: close\r\n/)
    await client.ends()
  })

  test('may be a chunked one', async () => {
    client.send(head.replace('Content-Length: 5', 'Transfer-Encoding: chunked'))
    const { socket } = await upstream.accepts(1)
    socket.write('HTTP/1.1 100 Continue\r\n\r\n')
    await client.receives(/100 Continue/)
    client.send('5\r\nhello\r\n0\r\n\r\n')
    await upstream.receives(/5\r\nhello\r\n0\r\n\r\n$/)
    socket.write(response('thanks'))
    await client.receives(/thanks$/)
  })

  test('but goes on unasked is answered all the same, and its connection is used again', async () => {
    client.send(`${head}hello`)
    await upstream.receives(/hello$/)
    const { socket } = await upstream.accepts(1)
    socket.write(`HTTP/1.1 100 Continue\r\n\r\n${response('thanks')}`)
    await client.receives(/thanks$/)
    upstream.script = (connection) => connection.socket.write(response('again'))
    client.send(get)
    await client.receives(/again$/)
    assert.equal(upstream.connections.length, 1)
  })
})

describe('a body that nobody wants', () => {
  let gateway: Gateway
  let client: RawClient

  beforeEach(async () => {
    gateway = await new Gateway({ sites: { 'b.example': respondWith('b') } }).open()
    client = await RawClient.connect(gateway.port)
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
  })

  const next = 'GET /next HTTP/1.1\r\nHost: b.example\r\n\r\n'

  test('of 64 KiB is read, and the next request behind it is answered', async () => {
    client.send(`POST / HTTP/1.1\r\nHost: nobody.example\r\nContent-Length: 65536\r\n\r\n`)
    await until('the answer', () => client.answers.length === 1)
    client.send('x'.repeat(65_536) + next)
    await until('both answers', () => client.answers.length === 2)
    assert.deepEqual(client.statuses, [421, 200])
  })

  test('of one byte more ends the connection: the body is never taken for a request', async () => {
    client.send(`POST / HTTP/1.1\r\nHost: b.example\r\nContent-Length: 65537\r\n\r\n${next}`)
    await client.ends()
    assert.deepEqual(client.statuses, [200])
    assert.match(client.received, /connection: close/)
    assert.equal(gateway.entries.length, 1)
  })

  test('in chunks ends the connection', async () => {
    client.send(`POST / HTTP/1.1\r\nHost: nobody.example\r\nTransfer-Encoding: chunked\r\n\r\n`)
    await client.ends()
    assert.deepEqual(client.statuses, [421])
    assert.match(client.received, /connection: close/)
  })
})
