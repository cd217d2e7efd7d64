// What idle HTTP/2 connections cost above TLS itself: weighed against a bare TLS server that holds the same ones.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { preface } from '../../src/http2/frames.js'
import { within } from '../support/deadline.js'
import { frameBytes, literals, RawClient, requestFields } from '../support/http2-client.js'
import type { Weight } from '../support/weighed-server.js'
import { openTls } from '../support/wires.js'

const connectionCount = 1_000
const warmUpCount = 100
const atOnce = 20
const rssBytesMax = 16 * 1024
const heapBytesMax = 8 * 1024

const hello = Buffer.concat([preface, frameBytes(4, 0, 0), frameBytes(1, 5, 1, literals(requestFields()))])

/** Opens connections that have each had one answer, and lie idle. */
async function openIdle(port: number, count: number): Promise<RawClient[]> {
  const clients: RawClient[] = []
  while (clients.length < count)
    clients.push(...(await Promise.all(Array.from({ length: atOnce }, () => openOne(port)))))
  return clients
}

async function openOne(port: number): Promise<RawClient> {
  const client = new RawClient(await openTls({ port, servername: 'a.example' }, 'h2'))
  client.write(hello)
  await client.answer(1)
  return client
}

async function weightOf(child: ChildProcess, connections: number): Promise<Weight> {
  const weight = once(child, 'message')
  child.send(connections)
  return (await within(`${connections} connections are weighed`, weight))[0] as Weight
}

/** Bytes that each idle connection costs a server. */
async function costOf(kind: 'bare' | 'hostward'): Promise<Weight> {
  const script = new URL('../support/weighed-server.js', import.meta.url)
  // A small young generation and one arena: what is weighed are the connections, not the room that a process grew for them.
  const execArgv = ['--expose-gc', '--max-semi-space-size=1']
  const child = fork(script, [kind], { execArgv, env: { ...process.env, MALLOC_ARENA_MAX: '1' } })
  try {
    const [port] = (await once(child, 'message')) as [number]
    // A process that has served before: code compiled, slabs allocated, the heap grown.
    for (const client of await openIdle(port, warmUpCount)) client.close()
    const before = await weightOf(child, 0)
    const clients = await openIdle(port, connectionCount)
    const after = await weightOf(child, connectionCount)
    for (const client of clients) client.close()
    return { rss: (after.rss - before.rss) / connectionCount, heap: (after.heap - before.heap) / connectionCount }
  } finally {
    child.disconnect()
    await once(child, 'exit')
  }
}

test('a thousand idle connections cost at most 16 KiB of memory and 8 KiB of heap each above TLS', async () => {
  const bare = await costOf('bare')
  const hostward = await costOf('hostward')
  const rss = Math.round(hostward.rss - bare.rss)
  const heap = Math.round(hostward.heap - bare.heap)
  console.log(`# above TLS, each: ${rss} bytes of memory, ${heap} of heap`)
  assert.ok(rss <= rssBytesMax, `${rss} bytes of memory each, ${Math.round(bare.rss)} in a bare server`)
  assert.ok(heap <= heapBytesMax, `${heap} bytes of heap each, ${Math.round(bare.heap)} in a bare server`)
})
