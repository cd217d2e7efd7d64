// ORIGIN (RFC 8336): what a client of HTTP/2 is told of the other hosts that its connection serves.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { FrameType } from '../../src/http2/frames.js'
import { originPayload } from '../../src/server/announced-origins.js'
import { within } from '../support/deadline.js'
import { RawClient } from '../support/http2-client.js'
import { RunningServer } from '../support/running-server.js'
import { openTls } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'

async function start(context: TestContext, announceOrigins: boolean): Promise<RunningServer> {
  const workspace = new Workspace()
  const shared = filesOf(await workspace.pair('shared', { names: ['a.example', 'b.example', '*.w.example'] }))
  const rsa = filesOf(await workspace.pair('rsa', { names: ['a.example', 'alone.example'], keyType: 'rsa' }))
  const own = filesOf(await workspace.pair('own', { names: ['c.example'] }))
  const respond = { status: 200 }
  const listeners = [
    { name: 'public', bind: '127.0.0.1:0', announceOrigins },
    { name: 'other', bind: '127.0.0.1:0' },
  ]
  const vhosts = [
    { hosts: ['a.example', 'x.w.example', '*.w.example'], certificate: shared, respond },
    { hosts: ['b.example'], certificate: shared, respond },
    { hosts: ['y.w.example'], listeners: ['other'], certificate: shared, respond },
    { hosts: ['c.example'], certificate: own, respond },
    { hosts: ['alone.example'], certificate: [rsa, own], respond },
  ]
  return RunningServer.startFor(context, { listeners, vhosts }, workspace)
}

/** The types of the frames that come first, up to the answer to a PING. */
async function firstFrames(port: number, servername?: string): Promise<number[]> {
  const client = new RawClient(await openTls({ port, servername }, 'h2'))
  client.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
  client.send(FrameType.settings, 0, 0)
  await client.ping()
  client.close()
  return client.frames.map(({ type }) => type)
}

test("Node's client is told the exact hosts of the listener that the connection's certificate covers", async (context) => {
  const running = await start(context, true)
  const socket = await openTls({ port: running.port(), servername: 'b.example' }, 'h2')
  const session = connect('https://b.example', { createConnection: () => socket })
  context.after(() => session.destroy())
  const [origins] = await within('an ORIGIN frame', once(session, 'origin'))
  assert.deepEqual(origins, ['https://a.example', 'https://x.w.example', 'https://b.example'])
})

test('it comes once, behind SETTINGS, and only where it has something to tell', async (context) => {
  const running = await start(context, true)
  const frames = await firstFrames(running.port(), 'a.example')
  assert.deepEqual(frames.slice(0, 2), [FrameType.settings, FrameType.origin])
  assert.equal(frames.filter((type) => type === FrameType.origin).length, 1)
  // No host is covered by both certificates of a site that has two, whichever of them the client got.
  assert.ok(!(await firstFrames(running.port(), 'alone.example')).includes(FrameType.origin))
})

test('nothing is told where the listener does not say so', async (context) => {
  const running = await start(context, false)
  assert.ok(!(await firstFrames(running.port(), 'a.example')).includes(FrameType.origin))
})

test('no more hosts are told than fit a frame', () => {
  const hosts = Array.from({ length: 1000 }, (_, index) => `host-${String(index).padStart(4, '0')}.example`)
  // 2 bytes of length, then https:// and 17 characters.
  assert.equal(originPayload(hosts.slice(0, 606)).length, 606 * 27)
  assert.equal(originPayload(hosts).length, 606 * 27)
  assert.equal(originPayload(['2001:db8::1']).toString('latin1'), '\0\x15https://[2001:db8::1]')
})
