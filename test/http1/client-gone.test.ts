import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { RequestEntry } from '../../src/telemetry/request-line.js'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ScriptedUpstream } from '../support/scripted-upstream.js'

const get = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'
const postHead = 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100000\r\n\r\n'
const chunkedHead = 'POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n'

describe('a client that goes away ends the upstream request at once, and one line says so:', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  let client: RawClient

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(() => undefined).open()
    gateway = await new Gateway({ sites: { 'a.example': forwardTo(upstream.port) } }).open()
    client = await RawClient.connect(gateway.port)
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
    await upstream.close()
  })

  async function onlyLine(): Promise<RequestEntry> {
    await upstream.isDeserted()
    await until('a line', () => gateway.entries.length > 0 && gateway.connections.size === 0)
    assert.equal(gateway.entries.length, 1)
    return gateway.entries[0] as RequestEntry
  }

  for (const how of ['close', 'reset'] as const) {
    const leave = () => (how === 'close' ? client.destroy() : client.socket.resetAndDestroy())

    test(`before the answer (${how})`, async () => {
      client.send(get)
      await upstream.receives(/\r\n\r\n$/)
      leave()
      const { status, reason, upstreamStatus } = await onlyLine()
      assert.deepEqual(
        { status, reason, upstreamStatus },
        { status: null, reason: 'client_gone', upstreamStatus: null },
      )
    })

    test(`in the middle of the answer (${how})`, async () => {
      upstream.script = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello')
      client.send(get)
      await client.receives(/hello$/)
      leave()
      const { status, reason, upstreamStatus, bytesSent } = await onlyLine()
      assert.deepEqual(
        { status, reason, upstreamStatus, bytesSent },
        { status: 200, reason: 'client_gone', upstreamStatus: 200, bytesSent: 5 },
      )
    })

    for (const [kind, head] of Object.entries({ counted: postHead, chunked: chunkedHead })) {
      test(`in the middle of a ${kind} upload (${how})`, async () => {
        client.send(`${head}5\r\nhello\r\n`)
        await upstream.receives(/hello\r\n$/)
        leave()
        const { status, reason } = await onlyLine()
        assert.deepEqual({ status, reason }, { status: null, reason: 'client_gone' })
        assert.doesNotMatch(upstream.received, /\r\n0\r\n\r\n/)
      })
    }
  }

  test('in the middle of an upload that is already being answered', async () => {
    upstream.script = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nearly')
    client.send(`${postHead}hello`)
    await client.receives(/early$/)
    client.destroy()
    const { status, reason } = await onlyLine()
    assert.deepEqual({ status, reason }, { status: 200, reason: 'client_gone' })
  })

  test('by half: a client that says it sends no more, before its answer, has left', async () => {
    client.send(get)
    await upstream.receives(/\r\n\r\n$/)
    client.socket.end()
    const { status, reason } = await onlyLine()
    assert.deepEqual({ status, reason }, { status: null, reason: 'client_gone' })
  })

  test('with half a head: no upstream hears of it and no line is written', async () => {
    client.send('GET / HTTP/1.1\r\nHost: a.exa')
    await until('the connection', () => gateway.connections.size === 1)
    client.destroy()
    await until('the connection is gone', () => gateway.connections.size === 0)
    assert.equal(upstream.connections.length, 0)
    assert.deepEqual(gateway.entries, [])
  })

  test('with the body refused: a chunk that breaks the grammar ends the upstream request, and is answered 400', async () => {
    client.send(`${chunkedHead}5\r\nhello\r\n`)
    await upstream.receives(/hello\r\n$/)
    client.send('x')
    await client.receives(/^HTTP\/1\.1 400 [\s\S]*bad_body/)
    await client.ends()
    const { status, reason } = await onlyLine()
    assert.deepEqual({ status, reason }, { status: 400, reason: 'bad_body' })
  })
})
