// Listeners come, go, move and change their names while connections stay open.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { freePort } from '../support/free-port.js'
import { LogFile } from '../support/log-file.js'
import { RunningServer } from '../support/running-server.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'
import type { Http1Client } from '../support/wires.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'

test('a listener that is added accepts, and says so', async (t) => {
  const { running, client } = await start(t)
  await running.reload({
    listeners: [
      { name: 'public', bind: any },
      { name: 'second', bind: any },
    ],
  })
  const port = running.port('second')
  await running.log.line({ event: 'listening', listener: 'second', address: '127.0.0.1', port, tls: true })
  await serves(await running.connect('site.example', 'second'), 'first')
  await serves(client, 'first')
})

test('a listener that is removed frees its address, ends what is in flight whole, and closes what is idle', async (t) => {
  const upstream = await new ScriptedUpstream(() => undefined).open()
  t.after(() => upstream.close())
  const { running, pair, client } = await start(t)
  const slow = {
    ...site(pair, ''),
    respond: undefined,
    hosts: ['slow.example'],
    upstream: `http://127.0.0.1:${upstream.port}`,
  }
  const vhosts = [site(pair, 'first'), slow]
  await running.reload({
    vhosts,
    listeners: [
      { name: 'public', bind: any },
      { name: 'second', bind: any },
    ],
  })
  const port = running.port('second')
  const idle = await running.connect('site.example', 'second')
  await serves(idle, 'first')
  const busy = await running.connect('slow.example', 'second')
  const answer = busy.ask('slow.example')
  await upstream.receives(/\r\n\r\n/)

  await running.reload({ listeners: [{ name: 'public', bind: any }] })
  await idle.ended()
  await refuses(port)
  const [connection] = upstream.connections
  connection?.socket.write(response('whole'))
  assert.deepEqual(await answer, { status: 200, body: 'whole', isLast: true })
  await busy.ended()
  await serves(client, 'first')
})

test('a listener that is renamed keeps its connections, and the log has its new name', async (t) => {
  const bind = `127.0.0.1:${await freePort()}`
  const { running, client } = await start(t, { listeners: [{ name: 'public', bind }] })
  await running.reload({ listeners: [{ name: 'front', bind }] })
  await running.log.after(() => serves(client, 'first'), { event: 'request', listener: 'front' })
  assert.equal(client.isClosed, false)
  assert.equal(running.log.lines({ event: 'listening' }).length, 1)
  await running.log.after(() => running.server.close(), { event: 'connections', listener: 'front' })
})

test('a listener that moves serves at the new address before the old one is let go', async (t) => {
  const [first, second] = [await freePort(), await freePort()]
  const { running } = await start(t, { listeners: [{ name: 'public', bind: `127.0.0.1:${first}` }] })
  for (const [from, to] of [
    [first, second],
    [second, first],
    [first, second],
  ] as const) {
    await running.reload({ listeners: [{ name: 'public', bind: `127.0.0.1:${to}` }] })
    await serves(await running.connect('site.example'), 'first')
    await refuses(from)
  }
})

test('a site may be taken off one listener and stay on another', async (t) => {
  const listeners = [
    { name: 'public', bind: any },
    { name: 'second', bind: any },
  ]
  const { running, pair, client } = await start(t, { listeners })
  const second = await running.connect('site.example', 'second')
  await serves(second, 'first')
  await running.reload({ vhosts: [{ ...site(pair, 'first'), listeners: ['public'] }] })
  assert.equal((await second.ask('site.example')).status, 421)
  await serves(client, 'first')
})

test("the log's file is changed by a reload, and no line is lost", async (t) => {
  const { running, workspace, client } = await start(t)
  const other = new LogFile(workspace.path('other.log'))
  running.change({ log: { file: 'other.log' } })
  await other.line({ event: 'config_reloaded' })
  const { generation } = await other.after(() => client.ask('site.example', '/after'), { event: 'request' })
  assert.equal(generation, 2)
  await running.log.line({ event: 'request' })
  assert.equal(running.log.lines({ event: 'request' }).length, 1)
})

test('the access log is switched off and on by a reload, for all sites and for one', async (t) => {
  const { running, pair, client } = await start(t)
  const asked = async (path: string): Promise<void> => void (await client.ask('site.example', path))
  await running.reload({ log: { file: 'hostward.log', access: false } })
  await asked('/off')
  await running.reload({ log: { file: 'hostward.log', access: true } })
  await asked('/on')
  await running.reload({ vhosts: [{ ...site(pair, 'first'), log: { access: false } }] })
  await asked('/off-for-the-site')
  assert.equal((await client.ask('nobody.example', '/on-for-nobody')).status, 421)
  await running.log.line({ event: 'request', target: '/on-for-nobody' })
  const targets = running.log.lines({ event: 'request' }).map(({ target }) => target)
  assert.deepEqual(targets, ['/', '/on', '/on-for-nobody'])
})

test('a change of the timeouts reaches connections that are open', async (t) => {
  const { running, client } = await start(t)
  await running.reload({ timeouts: { idleMs: 1, shutdownMs: 5_000 } })
  await serves(client, 'first')
  await client.ended()
})

const any = '127.0.0.1:0'

interface Started {
  readonly running: RunningServer
  readonly workspace: Workspace
  readonly pair: PairOnDisk
  readonly client: Http1Client
}

async function start(t: TestContext, main: Readonly<Record<string, unknown>> = {}): Promise<Started> {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['*.example'] })
  const running = await RunningServer.startFor(t, { vhosts: [site(pair, 'first')], ...main }, workspace)
  const client = await running.connect('site.example')
  await serves(client, 'first')
  return { running, workspace, pair, client }
}

function site(pair: PairOnDisk, body: string) {
  return { hosts: ['site.example'], certificate: filesOf(pair), respond: { body } }
}

async function serves(client: Http1Client, body: string): Promise<void> {
  const answer = await client.ask('site.example')
  assert.deepEqual({ ...answer, isLast: false }, { status: 200, body, isLast: false })
}

async function refuses(port: number): Promise<void> {
  const [error] = await once(connect(port, '127.0.0.1'), 'error')
  assert.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED')
}
