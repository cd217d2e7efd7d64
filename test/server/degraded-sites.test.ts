// One broken site never touches its neighbours: it keeps its last good version, or stays closed where there is none.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { makeCertificate } from '../support/certificates.js'
import { freePort } from '../support/free-port.js'
import type { LogLine } from '../support/log-file.js'
import { quickSettings, RunningServer } from '../support/running-server.js'
import type { Http1Client } from '../support/wires.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'

/** A mistake in a site of the main file, and in what words it is told. */
const mistakes: readonly { name: string; broken: (good: object) => object; message: RegExp }[] = [
  {
    name: 'an unknown key',
    broken: (good) => ({ ...good, upsteam: 'http://127.0.0.1:1' }),
    message: /unknown key "upsteam"/,
  },
  {
    name: 'respond beside upstream',
    broken: (good) => ({ ...good, upstream: 'http://127.0.0.1:1' }),
    message: /./,
  },
  {
    name: 'an undefined listener',
    broken: (good) => ({ ...good, listeners: ['pubic'] }),
    message: /pubic/,
  },
  {
    name: 'a certificate that does not exist',
    broken: (good) => ({ ...good, certificate: { cert: 'none.pem', key: 'none.key' } }),
    message: /none\.pem does not exist/,
  },
  {
    name: "a neighbour's name",
    broken: (good) => ({ ...good, hosts: ['site.example', 'neighbour.example'] }),
    message: /host "neighbour.example" is taken/,
  },
]

for (const { name, broken, message } of mistakes) {
  test(`a site of the main file with ${name} keeps its last good version, and its neighbour moves on`, async (t) => {
    const { running, pair, client } = await start(t)
    const good = site('site.example', pair, 'good')
    const line = await running.log.after(
      () => running.change({ vhosts: [site('neighbour.example', pair, 'moved on'), broken(good)] }),
      { event: 'site_degraded' },
    )
    assertDegraded(line, 'main.yaml', message)
    await serves(client, 'neighbour.example', 'moved on')
    await serves(client, 'site.example', 'first')

    const vhosts = [site('neighbour.example', pair, 'moved on'), site('site.example', pair, 'mended')]
    await running.log.after(() => running.change({ vhosts }), { event: 'site_restored', vhost: 'site.example' })
    await serves(client, 'site.example', 'mended')
    assert.equal(running.log.lines({ event: 'site_degraded' }).length, 1)
  })
}

const brokenFiles: readonly { name: string; text: (pair: PairOnDisk) => string; message: RegExp }[] = [
  {
    name: 'a mistake',
    text: (pair) => JSON.stringify({ ...included(pair, 'bad'), certificat: {} }),
    message: /certificat/,
  },
  { name: 'broken YAML', text: () => 'hosts: [included.example\nrespond: {', message: /./ },
  { name: 'nothing in it', text: () => '', message: /./ },
]

for (const { name, text, message } of brokenFiles) {
  test(`the site of an included file with ${name} keeps its last good version until it is mended`, async (t) => {
    const { running, workspace, pair, client } = await start(t)
    for (const turn of [1, 2, 3]) {
      await running.log.after(() => workspace.write('vhosts/one.yaml', included(pair, `good ${turn}`)), reloaded)
      await serves(client, 'included.example', `good ${turn}`)
      const breaking = (): void => workspace.write('vhosts/one.yaml', text(pair))
      assertDegraded(await running.log.after(breaking, { event: 'site_degraded' }), 'vhosts/one.yaml', message)
      await serves(client, 'included.example', `good ${turn}`)
      await running.reload({ vhosts: neighbours(pair, `${turn}`) })
      await serves(client, 'site.example', `${turn}`)
      await serves(client, 'included.example', `good ${turn}`)
    }
    assert.equal(running.log.lines({ event: 'site_degraded' }).length, 3, 'each is told once, not at each reload')
    assert.equal(client.isClosed, false)
  })
}

test('a site that keeps its last good version is renewed like any other', async (t) => {
  const { running, workspace, pair, client } = await start(t)
  const vhosts = [site('neighbour.example', pair, 'first'), { ...site('site.example', pair, 'bad'), unknown: 1 }]
  await running.log.after(() => running.change({ vhosts }), { event: 'site_degraded' })
  await running.log.after(() => workspace.pair('site', { names: ['*.example'] }), { event: 'certificate_loaded' })
  const renewed = await running.connect('site.example')
  assert.notEqual(renewed.fingerprint256, pair.fingerprint256)
  await serves(renewed, 'site.example', 'first')
  await serves(client, 'site.example', 'first')
})

test('a certificate that is replaced by garbage makes its site degraded once, and serves on until it is mended', async (t) => {
  const { running, workspace, pair } = await start(t, { reload: { ...quickSettings.reload, renewalGraceMs: 100 } })
  const own = await workspace.pair('own', { names: ['own.example'] })
  await running.reload({ vhosts: [...neighbours(pair, 'first'), site('own.example', own, 'own')] })
  const breaking = (): void => writeFileSync(own.cert, 'garbage')
  const line = await running.log.after(breaking, { event: 'site_degraded' })
  assert.equal(line['vhost'], 'own.example')
  assert.equal(line['serves'], 'last_good')
  assertDegraded(line, 'main.yaml', /./)
  await running.reload({ vhosts: [...neighbours(pair, 'second'), site('own.example', own, 'changed')] })
  const client = await running.connect('own.example')
  assert.equal(client.fingerprint256, own.fingerprint256)
  await serves(client, 'own.example', 'changed')
  await serves(client, 'site.example', 'second')

  await running.log.after(() => workspace.pair('own', { names: ['own.example'] }), { event: 'site_restored' })
  assert.notEqual((await running.connect('own.example')).fingerprint256, own.fingerprint256)
  assert.equal(running.log.lines({ event: 'certificate_pending' }).length, 1)
})

test('of two pairs of a site the sound one serves on, and the site says that the other cannot be used', async (t) => {
  const { running, workspace, pair } = await start(t)
  const own = await workspace.pair('own', { names: ['own.example'] })
  const certificate = [filesOf(own), { cert: 'missing.pem', key: 'missing.key' }]
  const vhosts = [...neighbours(pair, 'first'), { ...site('own.example', own, 'own'), certificate }]
  const line = await running.log.after(() => running.change({ vhosts }), { event: 'site_degraded' })
  assert.deepEqual([line['vhost'], line['serves']], ['own.example', 'partly'])
  await serves(await running.connect('own.example'), 'own.example', 'own')
})

test('at a cold start a broken site is closed, an error line says so, and the others come up', async (t) => {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['*.example'] })
  const fallbackCertificate = filesOf(pair)
  const broken = site('broken.example', { ...pair, cert: 'missing.pem' }, 'never')
  workspace.write('vhosts/two.yaml', 'hosts: [two.example\n')
  const main = { fallbackCertificate, include: ['vhosts/*.yaml'], vhosts: [broken, site('site.example', pair, 'good')] }
  const running = await RunningServer.startFor(t, main, workspace)
  const client = await running.connect('broken.example')
  await serves(client, 'site.example', 'good')
  for (const host of ['broken.example', 'two.example']) assert.equal((await client.ask(host)).status, 421)
  const lines = await running.log.all('two error lines', 2, ({ event }) => event === 'site_degraded')
  assert.deepEqual(
    lines.map(({ level, serves: served }) => [level, served]),
    [
      ['error', 'closed'],
      ['error', 'closed'],
    ],
  )
  const mended = site('two.example', pair, 'two')
  await running.log.after(() => workspace.write('vhosts/two.yaml', mended), { event: 'site_restored' })
  await serves(client, 'two.example', 'two')
  const whole = await makeCertificate({ names: ['broken.example'] })
  writeFileSync(workspace.path('missing.pem'), whole.chain)
  writeFileSync(pair.key, whole.key)
  await running.log.line({ event: 'site_restored', vhost: 'broken.example' })
  await serves(client, 'broken.example', 'never')
})

test('a site that still names a listener by its old name keeps serving there', async (t) => {
  const bind = `127.0.0.1:${await freePort()}`
  const { running, workspace, pair, client } = await start(t, { listeners: [{ name: 'public', bind }] })
  const own = { ...(included(pair, 'own') as object), listeners: ['public'] }
  await running.log.after(() => workspace.write('vhosts/one.yaml', own), reloaded)
  await serves(client, 'included.example', 'own')
  const rename = (): void => running.change({ listeners: [{ name: 'front', bind }] })
  const line = await running.log.after(rename, { event: 'site_degraded' })
  assertDegraded(line, 'vhosts/one.yaml', /listener "public" is not defined/)
  await serves(client, 'included.example', 'own')
  await serves(client, 'site.example', 'first')
})

test('a site that is taken out together with its files is not missed', async (t) => {
  const { running, workspace, pair, client } = await start(t)
  const own = await workspace.pair('own', { names: ['own.example'] })
  await running.reload({ vhosts: [...neighbours(pair, 'first'), site('own.example', own, 'own')] })
  workspace.delete('own.pem')
  workspace.delete('own.key')
  await running.reload({ vhosts: neighbours(pair, 'second') })
  assert.equal((await client.ask('own.example')).status, 421)
  await running.reload({ vhosts: neighbours(pair, 'third') })
  const afterwards = running.log.lines({ event: 'certificate_pending' }).filter(({ vhosts }) => String(vhosts) === '')
  assert.deepEqual(afterwards, [])
})

const reloaded = { event: 'config_reloaded' }

interface Started {
  readonly running: RunningServer
  readonly workspace: Workspace
  readonly pair: PairOnDisk
  readonly client: Http1Client
}

async function start(t: TestContext, keys: LogLine = {}): Promise<Started> {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['*.example'] })
  workspace.write('vhosts/README', 'one site a file\n')
  const main = { include: ['vhosts/*.yaml'], vhosts: neighbours(pair, 'first'), ...keys }
  const running = await RunningServer.startFor(t, main, workspace)
  const client = await running.connect('site.example')
  await serves(client, 'site.example', 'first')
  return { running, workspace, pair, client }
}

function neighbours(pair: PairOnDisk, body: string): object[] {
  return [site('site.example', pair, body), site('neighbour.example', pair, body)]
}

function included(pair: PairOnDisk, body: string): object {
  return site('included.example', pair, body)
}

function site(host: string, pair: PairOnDisk, body: string): object {
  return { hosts: [host], certificate: filesOf(pair), respond: { body } }
}

async function serves(client: Http1Client, host: string, body: string): Promise<void> {
  assert.deepEqual(await client.ask(host), { status: 200, body, isLast: false })
}

interface ToldMistake {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
}

function assertDegraded(line: LogLine, file: string, message: RegExp): void {
  assert.equal(line['level'], 'error')
  const errors = line['errors'] as ToldMistake[]
  const places = errors.map((error) => ({
    ends: error.file.endsWith(`/${file}`),
    at: error.line > 0 && error.column > 0,
  }))
  assert.ok(places.length > 0)
  for (const place of places) assert.deepEqual(place, { ends: true, at: true })
  assert.match(errors.map((error) => error.message).join('\n'), message)
}
