// The public corpus of hostile HTTP/1 connections beside the repository. Whatever comes in, an upstream sees the requests that
// are logged and no others, the next good request is answered, and nothing is left behind.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { heapBytes } from '../support/heap.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response } from '../support/scripted-upstream.js'

const corpus = join('..', 'shared', 'vectors', 'fuzz', 'http1.json')
/** Most of the corpus asks for this host; the rest is for nobody. */
const host = '127.0.0.1'
/** The server ends what does not go on, so that nobody has to guess when a connection has shown all it does. */
const waitMs = 250
const leftBytesMax = 4 * 1024 * 1024

describe('the public corpus of hostile connections', { skip: !existsSync(corpus) && `no ${corpus}` }, () => {
  let upstream: ReadingUpstream
  let gateway: Gateway
  let inputs: readonly string[]

  before(async () => {
    const entries: readonly { base64: string }[] = JSON.parse(readFileSync(corpus, 'utf8'))
    inputs = entries.map(({ base64 }) => Buffer.from(base64, 'base64').toString('latin1'))
    upstream = await new ReadingUpstream(() => response('ok')).open()
    gateway = await new Gateway({
      sites: { [host]: forwardTo(upstream.port) },
      timeouts: { headersMs: waitMs, bodyIdleMs: waitMs, idleMs: waitMs },
    }).open()
  })
  after(async () => {
    await gateway.close()
    await upstream.close()
  })

  test('is survived, and an upstream sees what is logged', async () => {
    await replay()
    assert.ok(inputs.length > 100)
    const passed = gateway.entries.filter(({ reason }) => reason === 'ok')
    assert.ok(passed.length > 1)
    assert.deepEqual(upstream.requests.map(({ head }) => lineOf(head)).sort(), passed.map(asLine).sort())
  })

  test('leaves nothing behind', async () => {
    await replay()
    const beforeBytes = heapBytes()
    for (let round = 0; round < 4; round++) await replay()
    const leftBytes = heapBytes() - beforeBytes
    assert.ok(leftBytes < leftBytesMax, `${leftBytes} bytes`)
  })

  /** Sends every input on a connection of its own, then a good request on another; forgets what earlier replays were seen to do. */
  async function replay(): Promise<void> {
    gateway.entries.length = 0
    upstream.requests.length = 0
    const clients = await Promise.all(inputs.map(() => RawClient.connect(gateway.port)))
    clients.forEach((client, index) => {
      client.send(inputs[index] ?? '')
    })
    await until('every connection ends', () => clients.every(({ isEnded, isClosed }) => isEnded || isClosed))
    for (const client of clients) client.destroy()
    const good = await RawClient.connect(gateway.port)
    good.send(`GET /good HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    await good.receives(/^HTTP\/1\.1 200 OK\r\n[\s\S]*ok$/)
    good.destroy()
    await until('every connection is forgotten', () => gateway.connections.size === 0)
  }
})

function lineOf(head: string): string {
  return head.slice(0, head.indexOf('\r\n'))
}

function asLine({ method, target }: { method: string | null; target: string | null }): string {
  return `${method} ${target} HTTP/1.1`
}
