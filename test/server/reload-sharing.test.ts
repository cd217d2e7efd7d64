// A reload costs what has changed: everything else is the same object as before, so that neither memory nor state is new.
import assert from 'node:assert/strict'
import { utimesSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { SiteAction } from '../../src/http/routing.js'
import { load } from '../../src/server/load.js'
import type { Snapshot } from '../../src/server/snapshot.js'
import { Stock } from '../../src/server/stock.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'

const nobody = { onDown: () => undefined, onUp: () => undefined, onPeerCertificate: () => undefined }

/** A configuration that is loaded again and again. */
class Loading {
  readonly workspace = new Workspace()
  readonly #stock = new Stock(nobody)
  snapshot: Snapshot | undefined

  async again(changed: readonly string[] | 'all'): Promise<Snapshot> {
    const outcome = await load({
      mainFile: this.workspace.path('main.yaml'),
      stock: this.#stock,
      previous: this.snapshot,
      changed: changed === 'all' ? 'all' : new Set(changed.map((name) => this.workspace.path(name))),
    })
    assert.ok(outcome.snapshot, JSON.stringify(outcome.errors))
    this.snapshot = outcome.snapshot
    return outcome.snapshot
  }
}

async function start(t: TestContext): Promise<{ loading: Loading; pair: PairOnDisk; first: Snapshot }> {
  const loading = new Loading()
  const { workspace } = loading
  t.after(() => workspace.remove())
  const pair = await workspace.pair('site', { names: ['*.example'] })
  const listeners = [{ name: 'public', bind: '127.0.0.1:0' }]
  workspace.write('main.yaml', { listeners, include: ['vhosts/*.yaml'] })
  for (const name of ['a', 'b', 'c']) workspace.write(`vhosts/${name}.yaml`, site(name, pair, 'http://127.0.0.1:1'))
  return { loading, pair, first: await loading.again('all') }
}

function site(name: string, pair: PairOnDisk, upstream: string): object {
  return { hosts: [`${name}.example`], certificate: filesOf(pair), upstream }
}

function objectsOf(snapshot: Snapshot, host: string): readonly unknown[] {
  const [plan] = [...snapshot.plans.values()]
  const virtualHost = plan?.view.sites.get(host)
  assert.ok(virtualHost)
  const { upstream } = virtualHost.action as Extract<SiteAction, { kind: 'forward' }>
  const serving = snapshot.sites.find(({ vhost }) => vhost.id === host)
  return [serving, serving?.vhost, virtualHost, upstream, ...upstream.endpoints, ...(serving?.certificates ?? [])]
}

function assertShared(before: Snapshot, after: Snapshot, hosts: readonly string[]): void {
  for (const host of hosts) {
    const [earlier, later] = [objectsOf(before, host), objectsOf(after, host)]
    assert.equal(earlier.length, 6)
    for (const [index, object] of later.entries()) assert.equal(object, earlier[index], `${host}, object ${index}`)
  }
}

test('a site that changes takes nothing with it', async (t) => {
  const { loading, pair, first } = await start(t)
  loading.workspace.write('vhosts/b.yaml', site('b', pair, 'http://127.0.0.1:2'))
  const second = await loading.again(['vhosts/b.yaml'])
  assertShared(first, second, ['a.example', 'c.example'])
  const [before, after] = [objectsOf(first, 'b.example'), objectsOf(second, 'b.example')]
  for (const changed of [0, 1, 2, 3, 4]) assert.notEqual(after[changed], before[changed])
  assert.equal(after[5], before[5], 'its certificate is what it was')
})

test('files that are touched, all of them, change nothing', async (t) => {
  const { loading, first } = await start(t)
  for (const name of ['main', 'vhosts/a', 'vhosts/b', 'vhosts/c'])
    utimesSync(loading.workspace.path(`${name}.yaml`), 1, 1)
  assertShared(first, await loading.again('all'), ['a.example', 'b.example', 'c.example'])
})

test('a comment in the main file moves everything in it and changes no site', async (t) => {
  const { loading, first } = await start(t)
  const main = { listeners: [{ name: 'public', bind: '127.0.0.1:0' }], include: ['vhosts/*.yaml'] }
  loading.workspace.write('main.yaml', `# moved\n${JSON.stringify(main)}`)
  assertShared(first, await loading.again(['main.yaml']), ['a.example', 'b.example', 'c.example'])
})

test('a timeout of the main file reaches all sites, and their endpoints stay', async (t) => {
  const { loading, first } = await start(t)
  const main = { listeners: [{ name: 'public', bind: '127.0.0.1:0' }], include: ['vhosts/*.yaml'] }
  loading.workspace.write('main.yaml', { ...main, limits: { requestBodyBytes: 10 } })
  const second = await loading.again(['main.yaml'])
  const [before, after] = [objectsOf(first, 'a.example'), objectsOf(second, 'a.example')]
  assert.notEqual(after[2], before[2])
  assert.equal(after[4], before[4])
})

test('a renewed certificate changes its sites alone, and not what they mean', async (t) => {
  const { loading, first } = await start(t)
  const own = await loading.workspace.pair('own', { names: ['d.example'] })
  loading.workspace.write('vhosts/d.yaml', site('d', own, 'http://127.0.0.1:1'))
  const second = await loading.again(['vhosts'])
  assertShared(first, second, ['a.example', 'b.example', 'c.example'])
  await loading.workspace.pair('own', { names: ['d.example'] })
  const third = await loading.again(['own.pem', 'own.key'])
  assertShared(second, third, ['a.example', 'b.example', 'c.example'])
  const [before, after] = [objectsOf(second, 'd.example'), objectsOf(third, 'd.example')]
  assert.deepEqual(
    after.map((object, index) => object === before[index]),
    [false, true, true, true, true, false],
  )
})
