// A mistake outside the sites changes nothing, and is told with all its places, once.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { freePort } from '../support/free-port.js'
import type { LogLine } from '../support/log-file.js'
import { RunningServer } from '../support/running-server.js'
import type { Http1Client } from '../support/wires.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'

test('mistakes outside the sites change nothing, and all of them are told with their places', async (t) => {
  const { running, pair, client } = await start(t)
  const change = { timeouts: { idleMs: 'long' }, limits: { conections: 1 }, vhosts: [site(pair, 'never')] }
  const line = await running.log.after(() => running.change(change), { event: 'config_rejected' })
  assert.equal(line['level'], 'error')
  const errors = line['errors'] as { file: string; line: number; column: number; message: string; hint?: string }[]
  assert.equal(errors.length, 2)
  for (const error of errors) assert.ok(error.file.endsWith('main.yaml') && error.line > 1 && error.column > 1)
  assert.match(errors.map(({ hint }) => hint).join(), /did you mean "connections"/)
  await serves(client, 'first')
})

test('invalid YAML in the main file changes nothing until it is mended', async (t) => {
  const { running, workspace, pair, client } = await start(t)
  for (const turn of [1, 2, 3]) {
    await running.log.after(() => workspace.write('main.yaml', `listeners: [${turn}`), { event: 'config_rejected' })
    await serves(client, turn === 1 ? 'first' : `mended ${turn - 1}`)
    await running.reload({ vhosts: [site(pair, `mended ${turn}`)] })
    await serves(client, `mended ${turn}`)
  }
  assert.equal(client.isClosed, false)
})

test('a certificate is renewed though the main file is broken, and the mistake is not told again', async (t) => {
  const { running, workspace, pair } = await start(t)
  await running.log.after(() => workspace.write('main.yaml', 'listeners: ['), { event: 'config_rejected' })
  const renewal = (): unknown => workspace.pair('site', { names: ['site.example'] })
  const loaded = await running.log.after(renewal, { event: 'certificate_loaded' })
  const { changed } = await running.log.following(loaded, { event: 'config_reloaded' })
  assert.equal(changed, 1)
  const renewed = await running.connect('site.example')
  assert.notEqual(renewed.fingerprint256, pair.fingerprint256)
  await serves(renewed, 'first')
  assert.equal(running.log.lines({ event: 'config_rejected' }).length, 1)
})

test('who asks for a reload is told the mistakes again', async (t) => {
  const { running, workspace } = await start(t)
  await running.log.after(() => workspace.write('main.yaml', 'listeners: ['), { event: 'config_rejected' })
  const errors = await running.server.reload()
  assert.equal(errors.length, 1)
  await running.log.line({ event: 'config_rejected' }, 2)
})

test('an address that becomes free is taken by itself, without another change and without telling again', async (t) => {
  const { running, client } = await start(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const listeners = [
    { name: 'public', bind: '127.0.0.1:0' },
    { name: 'second', bind: `127.0.0.1:${port}` },
  ]
  await running.log.after(() => running.change({ listeners }), { event: 'config_rejected' })
  await running.log.after(() => other.close(), { event: 'config_reloaded' })
  await serves(await running.connect('site.example', 'second'), 'first')
  await serves(client, 'first')
  assert.equal(running.log.lines({ event: 'config_rejected' }).length, 1)
})

test('a fallback certificate that cannot be used is a mistake outside the sites', async (t) => {
  const { running, pair, client } = await start(t)
  const change = { fallbackCertificate: { cert: 'none.pem', key: 'none.key' }, vhosts: [site(pair, 'never')] }
  await running.log.after(() => running.change(change), { event: 'config_rejected' })
  await serves(client, 'first')
})

test('a port that is taken keeps the whole new configuration from serving, and no half of it stays', async (t) => {
  const { running, pair, client } = await start(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const bind = `127.0.0.1:${(other.address() as AddressInfo).port}`
  const listeners = [
    { name: 'public', bind: '127.0.0.1:0' },
    { name: 'free', bind: '127.0.0.1:0' },
    { name: 'taken', bind },
  ]
  const change = { listeners, vhosts: [site(pair, 'never')], log: { file: 'other.log' } }
  const line = await running.log.after(() => running.change(change), { event: 'config_rejected' })
  assert.match(JSON.stringify(line['errors']), /listener \\"taken\\" cannot listen.*already in use/)
  await serves(client, 'first')
  assert.deepEqual(
    running.server.listeners.map(({ name }) => name),
    ['public'],
  )
  assert.equal(running.log.lines({ event: 'listening' }).length, 1)
})

test('a listener cannot move from one address to all of the same port, and is told so', async (t) => {
  const port = await freePort()
  const { running, client } = await start(t, { listeners: [{ name: 'public', bind: `127.0.0.1:${port}` }] })
  const change = (): void => running.change({ listeners: [{ name: 'public', bind: `:${port}` }] })
  const line = await running.log.after(change, { event: 'config_rejected' })
  assert.match(JSON.stringify(line['errors']), /Hostward itself listens on this port/)
  await serves(client, 'first')
  await serves(await running.connect('site.example'), 'first')
})

interface Started {
  readonly running: RunningServer
  readonly workspace: Workspace
  readonly pair: PairOnDisk
  readonly client: Http1Client
}

async function start(t: TestContext, keys: LogLine = {}): Promise<Started> {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['site.example'] })
  const running = await RunningServer.startFor(t, { vhosts: [site(pair, 'first')], ...keys }, workspace)
  const client = await running.connect('site.example')
  await serves(client, 'first')
  return { running, workspace, pair, client }
}

function site(pair: PairOnDisk, body: string): object {
  return { hosts: ['site.example'], certificate: filesOf(pair), respond: { body } }
}

async function serves(client: Http1Client, body: string): Promise<void> {
  assert.deepEqual(await client.ask('site.example'), { status: 200, body, isLast: false })
}
