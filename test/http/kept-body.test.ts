// Bodies of HTTP/2 without a length flow as they come; what an endpoint has refused to look at is sent again with all that has come,
// as long as that is little.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { WireClient } from '../contract/client-wire.js'
import { http2Wire } from '../contract/http2-wire.js'
import { until, within } from '../support/deadline.js'
import { forwardToHttp2, Gateway } from '../support/gateway.js'
import { portOf } from '../support/port.js'

const bytesMax = 1000

describe('a body that nobody waits for', () => {
  let server: Http2Server
  let gateway: Gateway
  let client: WireClient
  let refusals: number
  let received: string[]
  const streams = new Set<ServerHttp2Stream>()

  beforeEach(async () => {
    received = []
    server = createServer()
    server.on('stream', (stream) => {
      streams.add(stream)
      const isRefused = streams.size <= refusals
      const index = received.push('') - 1
      stream.on('error', () => undefined)
      stream.on('data', (chunk: Buffer) => {
        received[index] += chunk.toString('latin1')
        if (isRefused) stream.close(constants.NGHTTP2_REFUSED_STREAM)
      })
      stream.on('end', () => {
        if (!isRefused) stream.respond()
        if (!isRefused) stream.end(received[index])
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const sites = { 'a.example': forwardToHttp2(portOf(server)) }
    const view = { heldBodies: { bytesMax, chunkedMs: 60_000 } }
    gateway = await new Gateway({ sites, view, protocol: 'h2' }).open()
    client = http2Wire.connect(gateway.port)
  })
  afterEach(async () => {
    client.close()
    await gateway.close()
    for (const stream of streams) stream.session?.destroy()
    streams.clear()
    server.close()
  })

  test('is sent again whole after a refusal in its middle, and goes on from there', async () => {
    refusals = 1
    const exchange = client.request({
      host: 'a.example',
      method: 'POST',
      body: ['x'.repeat(bytesMax)],
      isOpenEnded: true,
    })
    await until('the second attempt has all of it', () => received[1]?.length === bytesMax)
    exchange.finish('y')
    const { status, body } = await within('the answer', exchange.response)
    assert.deepEqual([status, body.length, body.at(-1)], [200, bytesMax + 1, 'y'])
    assert.match(gateway.entries[0]?.failedAttempts?.[0] ?? '', /upstream_reset$/)
  })

  test('is not sent again once more of it has passed than is kept', async () => {
    refusals = 1
    const { response } = client.request({ host: 'a.example', method: 'POST', body: ['x'.repeat(bytesMax + 1)] })
    assert.equal((await within('the answer', response)).status, 502)
    assert.deepEqual(
      [received.length, gateway.entries[0]?.detail],
      [1, 'the endpoint reset the stream: REFUSED_STREAM'],
    )
  })

  test('is not sent again for ever: a second refusal is the answer', async () => {
    refusals = 2
    const { response } = client.request({ host: 'a.example', method: 'POST', body: ['x'] })
    assert.equal((await within('the answer', response)).status, 502)
    assert.equal(received.length, 2)
  })
})
