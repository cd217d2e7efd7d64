// Small bodies are held until they are whole: half a request must not reach an endpoint, and a whole one can be sent again.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { ErrorCode, Flag } from '../../src/http2/frames.js'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, type GatewayOptions } from '../support/gateway.js'
import { RawClient as Http2RawClient, requestFields } from '../support/http2-client.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response } from '../support/scripted-upstream.js'

const bytesMax = 1000
const head = 'POST / HTTP/1.1\r\nHost: a.example\r\n'
const get = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'
/** Held for longer than any test takes. */
const patient = { bytesMax, chunkedMs: 60_000 }

describe('a body', () => {
  let upstream: ReadingUpstream
  let gateway: Gateway

  beforeEach(async () => {
    upstream = await new ReadingUpstream(() => response('ok')).open()
  })
  afterEach(async () => {
    await gateway.close()
    await upstream.close()
  })

  async function open(options: Partial<GatewayOptions> = {}): Promise<void> {
    const sites = { 'a.example': forwardTo(upstream.port) }
    gateway = await new Gateway({ sites, view: { heldBodies: patient }, ...options }).open()
  }

  async function connected(use: (client: RawClient) => Promise<void>): Promise<void> {
    const client = await RawClient.connect(gateway.port)
    try {
      await use(client)
    } finally {
      client.destroy()
    }
  }

  /** Another request is answered, so what was sent before it has been dealt with; nothing else reached the endpoint. */
  async function reachedNothing(): Promise<void> {
    await connected(async (client) => {
      client.send(get)
      await client.receives(/ok$/)
    })
    assert.equal(upstream.requests.length, 1)
    assert.doesNotMatch(upstream.received, /POST/)
  }

  const counted = `${head}Content-Length: ${bytesMax}\r\n\r\n${'x'.repeat(bytesMax)}`
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n`

  for (const [kind, bytes] of Object.entries({ counted, chunked })) {
    test(`that is ${kind} and small reaches the endpoint once it is whole`, async () => {
      await open()
      await connected(async (client) => {
        client.send(bytes.slice(0, -1))
        await reachedNothing()
        client.send(bytes.slice(-1))
        await client.receives(/ok$/)
        assert.equal(upstream.requests[1]?.body, kind === 'counted' ? 'x'.repeat(bytesMax) : 'hello')
        assert.equal(upstream.requests[1]?.trailers, kind === 'counted' ? '' : 'X-Sum: 5\r\n')
      })
    })

    test(`that is ${kind} and small in pieces of one byte is the same body`, async () => {
      await open()
      await connected(async (client) => {
        for (const byte of bytes) client.send(byte)
        await client.receives(/ok$/)
        assert.ok([bytesMax, 5].includes(upstream.requests[0]?.body.length ?? 0))
      })
    })

    test(`that is ${kind} and never whole reaches nobody when its client leaves`, async () => {
      await open()
      await connected(async (client) => {
        client.send(bytes.slice(0, -1))
        await reachedNothing()
      })
      await until('the line', () => gateway.entries.length === 2)
      const [, { status, reason } = { status: 0, reason: '' }] = gateway.entries
      assert.deepEqual([status, reason], [null, 'client_gone'])
      assert.doesNotMatch(upstream.received, /POST/)
    })
  }

  test('whose chunks are broken reaches nobody and is answered 400', async () => {
    await open()
    await connected(async (client) => {
      client.send(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n`)
      await client.receives(/^HTTP\/1\.1 400 [\s\S]*bad_body/)
    })
    await reachedNothing()
  })

  test('that stops while it is held is answered 408', async () => {
    await open({ timeouts: { bodyIdleMs: 200 } })
    await connected(async (client) => {
      client.send(`${head}Content-Length: 10\r\n\r\nhello`)
      await client.receives(/^HTTP\/1\.1 408 [\s\S]*request_timeout/)
    })
    await reachedNothing()
  })

  for (const [kind, framing, body] of [
    ['counted', `Content-Length: ${bytesMax + 1}`, 'hello'],
    ['chunked', 'Transfer-Encoding: chunked', `3e9\r\n${'x'.repeat(bytesMax + 1)}`],
    ['expected', 'Expect: 100-continue\r\nContent-Length: 10', 'hello'],
  ] as const) {
    test(`that is ${kind} and one byte too large, or waited for, is passed on as it comes`, async () => {
      await open()
      await connected(async (client) => {
        client.send(`${head}${framing}\r\n\r\n${body}`)
        await upstream.receives(new RegExp(`${body.slice(-5)}(?:\r\n)?$`))
      })
      await upstream.isDeserted()
    })
  }

  test('in chunks whose client waits for an answer is passed on after a while', async () => {
    await open({ view: { heldBodies: { bytesMax, chunkedMs: 100 } } })
    await connected(async (client) => {
      client.send(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)
      await upstream.receives(/5\r\nhello\r\n$/)
      client.send('5\r\nworld\r\n0\r\n\r\n')
      await client.receives(/ok$/)
      assert.equal(upstream.requests[0]?.body, 'helloworld')
    })
  })

  test('much larger than what is held arrives whole', async () => {
    await open()
    const body = 'y'.repeat(3_000_000)
    await connected(async (client) => {
      client.send(`${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
      await client.receives(/ok$/)
      assert.equal(upstream.requests[0]?.body, body)
    })
  })

  describe('over h2', () => {
    let client: Http2RawClient

    async function openHttp2(): Promise<void> {
      await open({ protocol: 'h2', sites: { 'site.test': forwardTo(upstream.port) } })
      client = await Http2RawClient.open(gateway.port)
    }
    afterEach(() => client.close())

    test('of a known length is held until it is whole', async () => {
      await openHttp2()
      client.headers(1, requestFields([['content-length', '10']], 'POST'), 0)
      client.data(1, 'hello', 0)
      client.headers(3, requestFields([], 'GET'), Flag.endStream)
      await until('the other request', () => upstream.requests.length === 1)
      assert.doesNotMatch(upstream.received, /POST/)
      client.data(1, 'world', Flag.endStream)
      await until('the request', () => upstream.requests.length === 2)
      assert.equal(upstream.requests[1]?.body, 'helloworld')
    })

    test('that turns out shorter than its length reaches nobody', async () => {
      await openHttp2()
      client.headers(1, requestFields([['content-length', '10']], 'POST'), 0)
      client.data(1, 'hello', Flag.endStream)
      assert.equal(await client.resetOf(1), ErrorCode.protocolError)
      assert.equal(upstream.received, '')
      await until('the line', () => gateway.entries.length === 1)
      const [{ status, reason } = { status: 0, reason: '' }] = gateway.entries
      assert.deepEqual([status, reason], [null, 'bad_body'])
    })

    test('without a length is passed on as it comes: its client may wait for an answer', async () => {
      await openHttp2()
      client.headers(1, requestFields([], 'POST'), 0)
      client.data(1, 'hello', 0)
      await upstream.receives(/5\r\nhello\r\n$/)
      client.data(1, '', Flag.endStream)
      await until('the request', () => upstream.requests.length === 1)
    })
  })
})
