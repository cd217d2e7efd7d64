// Whatever a client sends over HTTP/1, an upstream that reads by the book sees exactly the requests that Hostward logged.
// Longer by hand: HOSTWARD_FUZZ_MS=600000 node --test dist/test/attack/desynchronisation.test.js
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { until } from '../support/deadline.js'
import { fuzz } from '../support/fuzzing.js'
import { forwardTo, Gateway, respondWith } from '../support/gateway.js'
import { mutatedRequest } from '../support/mutated-request.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response } from '../support/scripted-upstream.js'
import { assertSameRequests } from '../support/seen-requests.js'

describe('a connection of broken requests', () => {
  let upstream: ReadingUpstream
  let gateway: Gateway

  before(async () => {
    upstream = await new ReadingUpstream(({ head }) =>
      head.startsWith('HEAD ') ? 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' : response('ok'),
    ).open()
    const sites = { 'a.example': forwardTo(upstream.port), 'b.example': respondWith('b') }
    gateway = await new Gateway({ sites }).open()
  })
  after(async () => {
    await gateway.close()
    await upstream.close()
  })

  /** Sends everything, says so, and waits until the connection and its exchanges are over. */
  async function send(pieces: readonly string[]): Promise<string> {
    const client = await RawClient.connect(gateway.port)
    for (const piece of pieces) {
      if (client.isClosed) break
      client.send(piece)
      await new Promise((resolve) => setImmediate(resolve))
    }
    client.socket.end()
    await until('the connection is over', () => client.isClosed && gateway.connections.size === 0)
    return client.received
  }

  async function answersBystander(): Promise<void> {
    const client = await RawClient.connect(gateway.port)
    client.send('GET /bystander HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await client.receives(/200 OK[\s\S]*ok$/)
    client.destroy()
    await until('the bystander has left', () => gateway.connections.size === 0)
  }

  async function checkLogged(pieces: readonly string[]): Promise<void> {
    upstream.requests.length = 0
    gateway.entries.length = 0
    await send(pieces)
    await answersBystander()
    assertSameRequests(upstream.requests, gateway.entries)
  }

  test('shows an upstream nothing that is not logged', async () => {
    await fuzz(
      fc.asyncProperty(fc.array(mutatedRequest(2), { minLength: 1, maxLength: 3 }), (requests) =>
        checkLogged([requests.join('')]),
      ),
      0.25,
    )
  })

  test('that is no HTTP at all shows an upstream nothing', async () => {
    await fuzz(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (bytes) => {
        await checkLogged([latin1(bytes)])
        assert.equal(upstream.requests.length, 1)
      }),
      0.1,
    )
  })

  test('gets the same answers however its bytes are cut', async () => {
    const cuts = fc.array(fc.nat(400), { maxLength: 6 })
    await fuzz(
      fc.asyncProperty(fc.array(mutatedRequest(2), { minLength: 1, maxLength: 2 }), cuts, async (requests, places) => {
        // The empty line ends every head, or its verdict would wait for bytes that never come.
        const bytes = `${requests.join('')}\r\n\r\n`.replaceAll('a.example', 'b.example')
        const whole = await send([bytes])
        const cut = await send(piecesOf(bytes, places))
        assert.equal(comparable(cut), comparable(whole))
      }),
      0.25,
    )
  })
})

function latin1(text: string): string {
  return Array.from(text, (character) => String.fromCharCode(character.charCodeAt(0) & 0xff)).join('')
}

function piecesOf(bytes: string, places: readonly number[]): string[] {
  const bounds = [0, ...places.map((place) => Math.min(place, bytes.length)), bytes.length].sort((a, b) => a - b)
  return bounds.slice(1).map((end, index) => bytes.slice(bounds[index], end))
}

/** Answers without what differs from one to the next. */
function comparable(received: string): string {
  return received.replace(/date: [^\r]*\r\n/g, '').replace(/(x-request-id: |\d{3} [a-z_]+ )\S+/g, '$1')
}
