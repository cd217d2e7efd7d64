import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, respondWith } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { answering, response, ScriptedUpstream } from '../support/scripted-upstream.js'

describe('an HTTP/1 request on its way through', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  before(async () => {
    upstream = await new ScriptedUpstream(answering(response('hello'))).open()
    gateway = await new Gateway({
      sites: { 'a.example': forwardTo(upstream.port), 'b.example': respondWith('b') },
    }).open()
  })
  after(async () => {
    await gateway.close()
    await upstream.close()
  })

  test('each request on one connection is answered by the site of its own Host', async () => {
    const client = await RawClient.connect(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: A.example.:8443\r\n\r\n')
    await client.receives(/hello$/)
    client.send('GET / HTTP/1.1\r\nHost: b.example\r\n\r\n')
    await client.receives(/\r\n\r\nb$/)
    client.send('GET / HTTP/1.1\r\nHost: c.example\r\n\r\n')
    await client.receives(/421 unknown_host/)
    client.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await client.receives(/hello$/)
    assert.deepEqual(client.statuses, [200, 200, 421, 200])
    client.destroy()
    await until('four lines', () => gateway.entries.length === 4)
    assert.deepEqual(
      gateway.entries.map((entry) => entry.reason),
      ['ok', 'ok', 'unknown_host', 'ok'],
    )
  })

  test('pipelined requests are answered in their order', async () => {
    const client = await RawClient.connect(gateway.port)
    client.send(
      'GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: b.example\r\n\r\nGET /3 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n',
    )
    await client.ends()
    assert.deepEqual(
      [...client.received.matchAll(/\r\n\r\n(hello|b)/g)].map((match) => match[1]),
      ['hello', 'b', 'hello'],
    )
    client.destroy()
  })

  test('as many requests may wait as limits.pipelined says, all are answered', async () => {
    const client = await RawClient.connect(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: b.example\r\n\r\n'.repeat(1 + 16))
    await until('all answers', () => client.answers.length === 17)
    client.destroy()
  })

  test('with one more, the first is the last that is answered, and the log says why', async () => {
    const logged = gateway.entries.length
    const client = await RawClient.connect(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: b.example\r\n\r\n'.repeat(1 + 17))
    await client.ends()
    assert.deepEqual(client.statuses, [200])
    assert.match(client.received, /connection: close/)
    client.destroy()
    assert.deepEqual(
      gateway.entries.slice(logged).map(({ status, reason }) => [status, reason]),
      [
        [null, 'too_many_pipelined'],
        [200, 'ok'],
      ],
    )
  })

  test('a chunked body reaches the upstream in chunks, its trailers behind it', async () => {
    upstream.script = (connection) => {
      if (connection.received.endsWith('X-Sum: 8\r\n\r\n')) connection.socket.write(response('hello'))
    }
    const client = await RawClient.connect(gateway.port)
    client.send(
      'POST /up HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nabcde\r\n',
    )
    await upstream.receives(/POST \/up HTTP\/1\.1/)
    client.send('3;x=y\r\nfgh\r\n0\r\nX-Sum: 8\r\n\r\n')
    await upstream.receives(/abcde[\s\S]*fgh[\s\S]*0\r\nX-Sum: 8\r\n\r\n/)
    await client.receives(/hello/)
    client.destroy()
  })
})
