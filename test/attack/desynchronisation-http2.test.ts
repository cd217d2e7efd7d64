// Whatever a client sends over HTTP/2, an upstream that reads by the book sees exactly the requests that Hostward logged.
// Longer by hand: HOSTWARD_FUZZ_MS=600000 node --test dist/test/attack/desynchronisation-http2.test.js
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Http2Connection } from '../../src/http2/connection.js'
import { until } from '../support/deadline.js'
import { fuzz } from '../support/fuzzing.js'
import { forwardTo, Gateway, respondWith } from '../support/gateway.js'
import { RawClient as Http2Client, requestFields } from '../support/http2-client.js'
import { mutatedConnection } from '../support/mutated-connection.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response } from '../support/scripted-upstream.js'
import { assertSameRequests } from '../support/seen-requests.js'

describe('a hostile connection of HTTP/2', () => {
  let upstream: ReadingUpstream
  let gateway: Gateway
  let passedCount = 0

  before(async () => {
    upstream = await new ReadingUpstream(({ head }) =>
      head.startsWith('HEAD ') ? 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' : response('ok'),
    ).open()
    const sites = { 'a.example': forwardTo(upstream.port), 'b.example': respondWith('b') }
    gateway = await new Gateway({ sites, protocol: 'h2' }).open()
  })
  after(async () => {
    await gateway.close()
    await upstream.close()
  })

  /** Sends everything in pieces, and leaves once all that can be answered was answered. */
  async function send(bytes: string, places: readonly number[]): Promise<void> {
    const client = await RawClient.connect(gateway.port)
    const bounds = [0, ...places.map((place) => Math.min(place, bytes.length)), bytes.length].sort((a, b) => a - b)
    for (const [index, end] of bounds.slice(1).entries()) {
      if (client.isClosed) break
      client.send(bytes.slice(bounds[index], end))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await until('every whole request is answered', () => client.isClosed || client.isEnded || isSettled(bytes.length))
    client.socket.end()
    await until('the connection is over', () => client.isClosed && gateway.connections.size === 0)
  }

  /** Whether the server has read everything, and waits for nothing but its client. */
  function isSettled(sentBytes: number): boolean {
    const [socket] = gateway.sockets
    const [served] = gateway.connections as Set<Http2Connection>
    if (socket === undefined || served === undefined) return true
    const waits = [...served.streams.all()].filter(({ isRemoteEnded, sendWindowBytes }) => {
      // A window of a few bytes, and the client that has set it opens no other.
      return isRemoteEnded && sendWindowBytes > 0
    })
    return socket.bytesRead >= sentBytes && waits.length === 0
  }

  async function answersBystander(): Promise<void> {
    const client = await Http2Client.open(gateway.port)
    client.headers(
      1,
      requestFields([['host', 'a.example']]).filter(([name]) => name !== ':authority'),
    )
    const { status, body } = await client.answer(1)
    assert.deepEqual([status, body.toString()], ['200', 'ok'])
    client.close()
    await until('the bystander has left', () => gateway.connections.size === 0)
  }

  test('shows an upstream nothing that is not logged, and every whole request that is', async () => {
    const places = fc.array(fc.nat(600), { maxLength: 4 })
    await fuzz(
      fc.asyncProperty(mutatedConnection, places, async (bytes, cuts) => {
        upstream.requests.length = 0
        gateway.entries.length = 0
        await send(bytes, cuts)
        await answersBystander()
        assertSameRequests(upstream.requests, gateway.entries)
        for (const { head } of upstream.requests) assertSoundHead(head)
        passedCount += upstream.requests.length - 1
      }),
      0.4,
    )
    // A fuzzer whose requests are all refused would test nothing.
    assert.ok(passedCount > 0)
    console.log(`# ${passedCount} requests reached the upstream`)
  })
})

/** One Host, one framing at most, and not a line that came in by a line break. */
function assertSoundHead(head: string): void {
  const names = head
    .split('\r\n')
    .slice(1, -2)
    .map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
  assert.equal(names.filter((name) => name === 'host').length, 1, head)
  assert.ok(names.filter((name) => /^(content.length|transfer.encoding)$/.test(name)).length <= 1, head)
  assert.ok(!head.includes('/smuggled'), head)
}
