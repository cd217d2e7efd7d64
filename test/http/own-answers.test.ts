// Answers that Hostward makes itself wait for the end of the request, as an endpoint's do: a fixed answer that overtook a broken
// body told its client that all was well, and closed the connection of every client that had sent its body in chunks.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ErrorCode, Flag, FrameType } from '../../src/http2/frames.js'
import { until } from '../support/deadline.js'
import { Gateway, redirectTo, respondWith } from '../support/gateway.js'
import { RawClient as Http2RawClient, requestFields } from '../support/http2-client.js'
import { RawClient } from '../support/raw-client.js'

const chunkedHead = 'POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n'
const good = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'

const awaitedBytesMax = 64 * 1024

function counted(lengthBytes: number): string {
  return `POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: ${lengthBytes}\r\n\r\n`
}

describe('an answer of our own', () => {
  let gateway: Gateway
  let client: RawClient

  before(async () => {
    const moved = redirectTo('https://b.example')
    gateway = await new Gateway({ sites: { 'a.example': respondWith('fixed'), 'moved.example': moved } }).open()
  })
  after(() => gateway.close())

  async function connected<T>(use: () => Promise<T>): Promise<T> {
    client = await RawClient.connect(gateway.port)
    try {
      return await use()
    } finally {
      client.destroy()
    }
  }

  for (const [what, request] of Object.entries({
    chunked: `${chunkedHead}5\r\nhello\r\n0\r\n\r\n`,
    counted: `${counted(5)}hello`,
    redirected: `${counted(5).replace('a.example', 'moved.example')}hello`,
  })) {
    test(`follows a whole ${what} body, and the next request is answered`, () =>
      connected(async () => {
        client.send(request.slice(0, -1))
        // Another connection is served meanwhile, so an answer that did not wait would have come.
        await serves(gateway.port)
        assert.deepEqual(client.statuses, [])
        client.send(request.slice(-1) + good)
        await until('two answers', () => client.answers.length === 2)
        assert.deepEqual(client.statuses, [what === 'redirected' ? 308 : 200, 200])
        assert.equal(client.isEnded, false)
      }))
  }

  test('is a refusal where the chunks of the body are broken', () =>
    connected(async () => {
      client.send(`${chunkedHead}5\r\nhelloX\r\n0\r\n\r\n${good}`)
      await client.ends()
      assert.deepEqual(client.statuses, [400])
    }))

  test('follows a body of as many bytes as are awaited', () =>
    connected(async () => {
      client.send(counted(awaitedBytesMax) + 'x'.repeat(awaitedBytesMax - 1))
      await serves(gateway.port)
      assert.deepEqual(client.statuses, [])
      client.send('x')
      await client.receives(/fixed$/)
    }))

  test('overtakes a body of one byte more, counted or not', async () => {
    await connected(async () => {
      client.send(counted(awaitedBytesMax + 1))
      await client.receives(/fixed$/)
    })
    await connected(async () => {
      client.send(`${chunkedHead}10001\r\n${'x'.repeat(awaitedBytesMax + 1)}`)
      await client.receives(/fixed$/)
    })
  })

  test('overtakes a body that waits for a word of ours', () =>
    connected(async () => {
      client.send(counted(5).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'))
      await client.receives(/^HTTP\/1\.1 200 OK[\s\S]*fixed$/)
    }))
})

test('a stream whose body is longer than it says is reset, though its answer needs none of it', async () => {
  const gateway = await new Gateway({ protocol: 'h2', sites: { 'site.test': respondWith('fixed') } }).open()
  const client = await Http2RawClient.open(gateway.port)
  try {
    client.headers(1, requestFields([['content-length', '1']], 'POST'), 0)
    await client.ping()
    client.data(1, 'more', Flag.endStream)
    assert.equal(await client.resetOf(1), ErrorCode.protocolError)
    assert.ok(!client.frames.some(({ type }) => type === FrameType.headers))
  } finally {
    client.close()
    await gateway.close()
  }
})

async function serves(port: number): Promise<void> {
  const other = await RawClient.connect(port)
  other.send(good)
  await other.receives(/fixed$/)
  other.destroy()
}
