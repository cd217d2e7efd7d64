import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ScriptedUpstream, type UpstreamConnection } from '../support/scripted-upstream.js'

const deaths: Readonly<Record<string, (connection: UpstreamConnection) => unknown>> = {
  'by its end': ({ socket }) => socket.end(),
  'by a reset': ({ socket }) => socket.resetAndDestroy(),
}

const bodies: Readonly<Record<string, string>> = {
  'a counted body': 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello',
  'a chunked body': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
  'a chunk': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello',
  'the last chunk': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n',
  'the trailers': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n',
}

describe('an upstream that dies', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  before(async () => {
    upstream = await new ScriptedUpstream(() => undefined).open()
    gateway = await new Gateway({ sites: { 'a.example': forwardTo(upstream.port) } }).open()
  })
  after(async () => {
    await gateway.close()
    await upstream.close()
  })

  async function lastReason(): Promise<string | undefined> {
    await until('the connection is gone', () => gateway.connections.size === 0)
    return gateway.entries.at(-1)?.reason
  }

  async function request(version: string): Promise<RawClient> {
    const client = await RawClient.connect(gateway.port)
    client.send(`GET / HTTP/${version}\r\nHost: a.example\r\n\r\n`)
    return client
  }

  for (const [how, die] of Object.entries(deaths)) {
    for (const [where, bytes] of Object.entries(bodies)) {
      test(`in the middle of ${where} ${how} leaves HTTP/1.1 a broken body`, async () => {
        upstream.script = ({ socket }) => socket.write(bytes)
        const client = await request('1.1')
        await client.receives(/hello/)
        die(upstream.connections.at(-1) as UpstreamConnection)
        await client.ends()
        assert.doesNotMatch(client.received, /\r\n0\r\n/)
        assert.equal(client.answers.filter((answer) => answer.includes('ontent-')).length, 0)
        assert.equal(await lastReason(), 'upstream_reset')
      })

      test(`in the middle of ${where} ${how} leaves HTTP/1.0 a broken body`, async () => {
        upstream.script = ({ socket }) => socket.write(bytes)
        const client = await request('1.0')
        await client.receives(/hello/)
        die(upstream.connections.at(-1) as UpstreamConnection)
        await client.ends()
        assert.doesNotMatch(client.received, /\r\n0\r\n/)
        assert.ok(client.wasReset || /content-length: 10/i.test(client.received))
        assert.equal(await lastReason(), 'upstream_reset')
      })
    }

    test(`before its answer ${how} is 502`, async () => {
      upstream.script = die
      const client = await request('1.1')
      await client.receives(/^HTTP\/1\.1 502 [\s\S]*upstream_reset/)
      client.destroy()
      assert.equal(await lastReason(), 'upstream_reset')
    })

    test(`in the middle of its head ${how} is 502`, async () => {
      upstream.script = (connection) => connection.socket.write('HTTP/1.1 200 OK\r\nContent-', () => die(connection))
      const client = await request('1.1')
      await client.receives(/^HTTP\/1\.1 502 [\s\S]*upstream_reset/)
      client.destroy()
      assert.equal(await lastReason(), 'upstream_reset')
    })

    test(`behind a 100 ${how} is 502`, async () => {
      upstream.script = (connection) => connection.socket.write('HTTP/1.1 100 Continue\r\n\r\n', () => die(connection))
      const client = await request('1.1')
      await client.receives(/502 [\s\S]*upstream_reset/)
      client.destroy()
      assert.equal(await lastReason(), 'upstream_reset')
    })
  }

  test('by its end completes a body that only its end could complete', async () => {
    upstream.script = ({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello')
    const client = await request('1.1')
    await client.receives(/transfer-encoding: chunked\r\n[\s\S]*5\r\nhello\r\n0\r\n\r\n$/)
    client.destroy()
    assert.equal(await lastReason(), 'ok')
  })

  test('by a reset breaks a body that only its end could complete', async () => {
    upstream.script = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\n\r\nhello')
    const client = await request('1.1')
    await client.receives(/hello/)
    upstream.connections.at(-1)?.socket.resetAndDestroy()
    await client.ends()
    assert.doesNotMatch(client.received, /\r\n0\r\n/)
    assert.equal(await lastReason(), 'upstream_reset')
  })

  test('and never accepted is 502, unreachable', async () => {
    const closed = await new ScriptedUpstream(() => undefined).open()
    const { port } = closed
    await closed.close()
    const other = await new Gateway({ sites: { 'a.example': forwardTo(port) } }).open()
    const client = await RawClient.connect(other.port)
    client.send('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello')
    await client.receives(/^HTTP\/1\.1 502 [\s\S]*upstream_unreachable/)
    client.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await until('two answers', () => client.answers.length === 2)
    assert.deepEqual(client.statuses, [502, 502])
    client.destroy()
    await other.close()
  })
})
