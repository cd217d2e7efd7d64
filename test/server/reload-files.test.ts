// Whatever way a file is changed, the next request on an open connection is answered under the new table.
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { RunningServer } from '../support/running-server.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'
import type { Http1Client } from '../support/wires.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'

/** A way to put the included file `site.yaml` in place; `turn` counts from 0. */
interface Writer {
  readonly name: string
  readonly include: string
  readonly put: (workspace: Workspace, content: string, turn: number) => void
}

const writers: readonly Writer[] = [
  {
    name: 'written in place',
    include: 'site.yaml',
    put: (workspace, content) => writeFileSync(workspace.path('site.yaml'), content),
  },
  {
    name: 'renamed over, as editors do',
    include: 'site.yaml',
    put: (workspace, content) => workspace.write('site.yaml', content),
  },
  {
    name: 'behind a link that is removed and made again, as certbot does',
    include: 'site.yaml',
    put: (workspace, content, turn) => {
      workspace.write(`archive/site${turn}.yaml`, content)
      rmSync(workspace.path('site.yaml'), { force: true })
      symlinkSync(`archive/site${turn}.yaml`, workspace.path('site.yaml'))
    },
  },
  {
    name: 'behind a ..data link, as Kubernetes does',
    include: 'mount/*.yaml',
    put: (workspace, content, turn) => {
      workspace.write(`mount/..${turn}/site.yaml`, content)
      symlinkSync(`..${turn}`, workspace.path('mount/..data_tmp'))
      renameSync(workspace.path('mount/..data_tmp'), workspace.path('mount/..data'))
      if (turn === 0) symlinkSync('..data/site.yaml', workspace.path('mount/site.yaml'))
      else rmSync(workspace.path(`mount/..${turn - 1}`), { recursive: true })
    },
  },
]

for (const writer of writers) {
  test(`an included file that is ${writer.name} is followed every time`, async (t) => {
    const workspace = new Workspace()
    const pair = await workspace.pair('site', { names: ['site.example'] })
    writer.put(workspace, siteText(pair, 'turn 0'), 0)
    const running = await RunningServer.startFor(t, { include: [writer.include] }, workspace)
    const client = await running.connect('site.example')
    for (let turn = 1; turn <= 3; turn++) {
      await serves(client, 'site.example', `turn ${turn - 1}`)
      await running.log.after(() => writer.put(workspace, siteText(pair, `turn ${turn}`), turn), changedOnce)
      await serves(client, 'site.example', `turn ${turn}`)
    }
    assert.equal(client.isClosed, false)
  })
}

test('a change of the main file is served on an open connection', async (t) => {
  const { running, pair, client } = await start(t)
  for (const body of ['second', 'third', 'fourth']) {
    await running.reload({ vhosts: [site(pair, body)] })
    await serves(client, 'site.example', body)
  }
})

test('the main file may be written in place, and is never read half written', async (t) => {
  const { running, workspace, pair, client } = await start(t)
  for (const body of ['second', 'third', 'fourth']) {
    const main = JSON.stringify({ ...running.main, vhosts: [site(pair, body)] })
    await running.log.after(() => writeFileSync(workspace.path('main.yaml'), main), changedOnce)
    await serves(client, 'site.example', body)
  }
  assert.deepEqual(running.log.lines({ event: 'config_rejected' }), [])
})

test('an included file that comes adds its site, and one that goes takes it away: 421 on the open connection', async (t) => {
  const { running, workspace, pair, client } = await start(t)
  for (const body of ['first guest', 'second guest', 'third guest']) {
    assert.equal((await client.ask('guest.example')).status, 421)
    const guest = { ...site(pair, body), hosts: ['guest.example'] }
    await running.log.after(() => workspace.write('vhosts/guest.yaml', guest), reloaded({ added: 1 }))
    await serves(client, 'guest.example', body)
    await running.log.after(() => unlinkSync(workspace.path('vhosts/guest.yaml')), reloaded({ removed: 1 }))
  }
  assert.equal((await client.ask('guest.example')).status, 421)
  await serves(client, 'site.example', 'first')
})

test('a file that a site takes in is followed: it comes, it changes, it goes', async (t) => {
  const { running, workspace, pair, client } = await start(t)
  const degraded = await running.log.after(
    () => running.change({ vhosts: [{ ...site(pair, 'second'), errors: { 502: 'page.html' } }] }),
    { event: 'site_degraded', serves: 'last_good' },
  )
  assert.match(JSON.stringify(degraded['errors']), /page\.html cannot be read: no such file or directory/)
  await serves(client, 'site.example', 'first')
  await running.log.after(() => workspace.write('page.html', 'a page'), { event: 'site_restored' })
  await serves(client, 'site.example', 'second')
  await running.log.after(() => workspace.write('page.html', 'another page'), changedOnce)
  await running.log.after(() => unlinkSync(workspace.path('page.html')), { event: 'site_degraded' })
  await serves(client, 'site.example', 'second')
})

test('without a watch nothing changes before it is asked for', async (t) => {
  const { running, workspace, pair, client } = await start(t, { reload: { watch: false, debounceMs: 5, pollMs: 50 } })
  const vhosts = [{ ...site(pair, 'witness'), hosts: ['witness.example'] }]
  const witness = await RunningServer.startFor(t, { include: [workspace.path('vhosts/*.yaml')], vhosts })
  const guest = { ...site(pair, 'guest'), hosts: ['guest.example'] }
  await witness.log.after(() => workspace.write('vhosts/guest.yaml', guest), reloaded({ added: 1 }))
  assert.equal((await client.ask('guest.example')).status, 421)
  await running.log.after(() => running.server.reload(), reloaded({ added: 1 }))
  await serves(client, 'guest.example', 'guest')
})

test('a watch that is switched on by a reload watches from then on', async (t) => {
  const { running, pair, client } = await start(t, { reload: { watch: false } })
  running.change({ reload: { watch: true, debounceMs: 5, pollMs: 50 } })
  await running.log.after(() => running.server.reload(), { event: 'config_reloaded' })
  await running.reload({ vhosts: [site(pair, 'seen')] })
  await serves(client, 'site.example', 'seen')
})

test('with the default settings a change is seen by itself too', async (t) => {
  const { running, workspace, pair, client } = await start(t, { reload: {} })
  for (const body of ['second', 'third']) {
    await running.reload({ vhosts: [site(pair, body)] })
    await serves(client, 'site.example', body)
  }
  const renewal = (): unknown => workspace.pair('site', { names: ['site.example'] })
  await running.log.after(renewal, { event: 'certificate_loaded' })
})

test('a request in flight ends whole though its site is taken away, and the next one gets 421', async (t) => {
  const upstream = await new ScriptedUpstream(() => undefined).open()
  t.after(() => upstream.close())
  const { running, pair, client } = await start(t)
  const guest = { hosts: ['guest.example'], certificate: filesOf(pair), upstream: `http://127.0.0.1:${upstream.port}` }
  await running.reload({ vhosts: [site(pair, 'first'), guest] })
  const answer = client.ask('guest.example', '/slow')
  await upstream.receives(/GET \/slow /)
  await running.reload({ vhosts: [site(pair, 'second')] })
  upstream.connections[0]?.socket.write(response('whole'))
  assert.deepEqual(await answer, { status: 200, body: 'whole', isLast: false })
  assert.equal((await client.ask('guest.example')).status, 421)
  await serves(client, 'site.example', 'second')
  const line = await running.log.line({ event: 'request', target: '/slow' })
  assert.deepEqual([line['generation'], line['vhost'], line['status']], [2, 'guest.example', 200])
  // The endpoint is nobody's any more, so its connection is not kept either.
  await running.log.until('the upstream is let go', () => upstream.connections.every(({ isClosed }) => isClosed))
})

test('the generation of a log line is that of the table that answered', async (t) => {
  const { running, pair, client } = await start(t)
  const before = await running.log.after(() => client.ask('site.example', '/before'), { event: 'request' })
  await running.reload({ vhosts: [site(pair, 'second')] })
  const after = await running.log.after(() => client.ask('site.example', '/after'), { event: 'request' })
  assert.deepEqual([before['generation'], after['generation']], [1, 2])
  assert.equal(before['connectionId'], after['connectionId'])
})

const changedOnce = { event: 'config_reloaded', changed: 1 }

function reloaded(counts: Readonly<Record<string, number>>): Readonly<Record<string, unknown>> {
  return { event: 'config_reloaded', ...counts }
}

function site(pair: PairOnDisk, body: string) {
  return { hosts: ['site.example'], certificate: filesOf(pair), respond: { body } }
}

function siteText(pair: PairOnDisk, body: string): string {
  return JSON.stringify(site(pair, body))
}

async function serves(client: Http1Client, host: string, body: string): Promise<void> {
  const answer = await client.ask(host)
  assert.deepEqual(answer, { status: 200, body, isLast: false })
}

interface Started {
  readonly running: RunningServer
  readonly workspace: Workspace
  readonly pair: PairOnDisk
  readonly client: Http1Client
}

async function start(t: TestContext, main: Readonly<Record<string, unknown>> = {}): Promise<Started> {
  const workspace = new Workspace()
  mkdirSync(workspace.path('vhosts'))
  const pair = await workspace.pair('site', { names: ['site.example'] })
  const defaults = { include: ['vhosts/*.yaml'], vhosts: [site(pair, 'first')] }
  const running = await RunningServer.startFor(t, { ...defaults, ...main }, workspace)
  const client = await running.connect('site.example')
  await serves(client, 'site.example', 'first')
  return { running, workspace, pair, client }
}
