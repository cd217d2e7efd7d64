// What clients and operators can do to the process at any moment, and what must be left of it: nothing.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { HostwardProcess } from '../support/hostward-process.js'
import { NamedUpstream } from '../support/named-upstream.js'
import { filesOf, Workspace } from '../support/workspace.js'

test('a thousand connections that are reset at any moment leave no socket and no count behind', async (t) => {
  const { hostward, upstream, port } = await start(t)
  const { log } = hostward.workspace
  await visit(port, 6)
  await log.until('the upstream is let go', () => upstream.openConnections === 0)
  const before = hostward.openFiles
  for (let turn = 0; turn < 20; turn++) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => visit(port, index % stages.length)))
  }
  await log.until('all sockets are closed', () => upstream.openConnections === 0 && hostward.openFiles <= before)
  hostward.signal('SIGTERM')
  assert.equal(await hostward.exited(), 0)
  const { accepted, open, handshakesFailed, withoutRequest } = await log.line({ event: 'connections' })
  assert.deepEqual({ accepted, open }, { accepted: 1_001, open: 0 })
  const withRequest = new Set(log.lines({ event: 'request' }).map(({ connectionId }) => connectionId))
  assert.equal(withRequest.size + Number(handshakesFailed) + Number(withoutRequest), 1_001)
  assert.equal(hostward.errorOutput, '')
})

test('after kill -9 the next start serves at once, at the same address and with the same log', async (t) => {
  const { hostward, port } = await start(t)
  const client = await hostward.connect('site.example')
  assert.equal((await client.ask('site.example')).status, 200)
  await hostward.workspace.log.line({ event: 'request' })
  const main = { ...hostward.main, listeners: [{ name: 'public', bind: `127.0.0.1:${port}` }] }
  hostward.signal('SIGKILL')
  assert.equal(await hostward.exited(), null)
  await client.ended()

  const { workspace } = hostward
  workspace.write('main.yaml', main)
  const again = HostwardProcess.runFor(t, workspace)
  await workspace.log.line({ event: 'listening', port }, 2)
  assert.equal((await (await again.connect('site.example')).ask('site.example')).status, 200)
})

/** A connection, and what it speaks through. */
interface Visitor {
  readonly raw: Socket
  readonly stream: Duplex
}

/** How far a visitor comes before it resets the connection. */
const stages: readonly ((port: number) => Promise<Visitor>)[] = [
  (port) => open(port),
  async (port) => say(await open(port), Buffer.from([0x16, 3, 1])),
  async (port) => say(await open(port), 'GET / HTTP/1.1\r\n\r\n'),
  (port) => openTls(port),
  async (port) => say(await openTls(port), 'GET / HTTP/1.1\r\nhost: si'),
  async (port) => say(await openTls(port), 'GET / HTTP/1.1\r\nhost: site.example\r\n\r\n'),
  async (port) => {
    const visitor = say(await openTls(port), 'GET / HTTP/1.1\r\nhost: site.example\r\n\r\n')
    await once(visitor.stream, 'data')
    return visitor
  },
  async (port) =>
    say(await openTls(port), 'POST / HTTP/1.1\r\nhost: site.example\r\ncontent-length: 99999\r\n\r\nhalf'),
]

async function visit(port: number, stage: number): Promise<void> {
  const visitor = await stages[stage]?.(port)
  if (visitor === undefined || visitor.raw.destroyed) return
  const closed = once(visitor.raw, 'close')
  visitor.raw.resetAndDestroy()
  await closed
}

async function open(port: number): Promise<Visitor> {
  const raw = connect(port, '127.0.0.1')
  raw.on('error', () => undefined)
  await once(raw, 'connect')
  return { raw, stream: raw }
}

async function openTls(port: number): Promise<Visitor> {
  const { raw } = await open(port)
  const stream = connectTls({ socket: raw, servername: 'site.example', rejectUnauthorized: false })
  stream.on('error', () => undefined)
  await once(stream, 'secureConnect')
  return { raw, stream }
}

function say(visitor: Visitor, words: string | Buffer): Visitor {
  visitor.stream.write(words)
  return visitor
}

async function start(t: TestContext) {
  const workspace = new Workspace()
  t.after(() => workspace.remove())
  const upstream = await NamedUpstream.open('site')
  t.after(() => upstream.close())
  const pair = await workspace.pair('site', { names: ['site.example'] })
  const vhosts = [{ hosts: ['site.example'], certificate: filesOf(pair), upstream: upstream.url }]
  const timeouts = { upstreamIdleMs: 50, shutdownMs: 5_000 }
  const hostward = await HostwardProcess.startFor(t, workspace, { vhosts, timeouts })
  return { hostward, upstream, port: await hostward.port() }
}
