// The usual chain, client → CDN → layer-4 edge → Hostward, and the sets of addresses that it stands on, while they change.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { ConfigError } from '../../src/config/config-error.js'
import { encodeProxyV2 } from '../../src/net/proxy-protocol-v2.js'
import { Server } from '../../src/server/server.js'
import type { LogLine } from '../support/log-file.js'
import { RawClient } from '../support/raw-client.js'
import { type MainFile, RunningServer } from '../support/running-server.js'
import { filesOf, Workspace } from '../support/workspace.js'

const host = 'site.example'
const destination = { address: '198.51.100.2', port: 443 }
const headerOf = (address: string): Buffer => encodeProxyV2({ source: { address, port: 4711 }, destination })
const edge = { from: ['127.0.0.0/8'], mode: 'optional' }
const cdn = '# the CDN\n192.0.2.0/24\n2001:db8:cd::/48\n'

/** Two listeners of one site that tells what it is told; both say what `listener` says. */
async function start(
  test: TestContext,
  listener: object,
  more: MainFile = {},
  site: object = {},
): Promise<RunningServer> {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: [host] })
  workspace.write('sets/cdn.txt', cdn)
  const upstream = createServer(({ headers }, response) => {
    response.end(`${headers['x-forwarded-for']} ${headers['x-forwarded-proto']} ${headers['cf-connecting-ip']}`)
  })
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  test.after(() => upstream.close())
  const { port } = upstream.address() as AddressInfo
  const main = {
    addressSets: { cdn: 'sets/cdn.txt' },
    listeners: listenersOf(listener),
    vhosts: [
      {
        hosts: [host],
        certificate: filesOf(pair),
        listeners: ['public', 'plain'],
        upstream: `http://127.0.0.1:${port}`,
        ...site,
      },
    ],
    ...more,
  }
  return await RunningServer.startFor(test, main, workspace)
}

function listenersOf(listener: object): object[] {
  return [
    { name: 'public', bind: '127.0.0.1:0', ...listener },
    { name: 'plain', bind: '127.0.0.1:0', tls: false, ...listener },
  ]
}

/** A connection of the edge's, behind its header, over TLS. */
async function connectBehind(running: RunningServer, header: Buffer): Promise<RawClient> {
  const raw = connect(running.port(), '127.0.0.1')
  raw.write(header)
  const socket = connectTls({ socket: raw, servername: host, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return new RawClient(socket)
}

interface Told {
  readonly status: number
  readonly body: string
  readonly line: LogLine
}

async function ask(running: RunningServer, client: RawClient, lines: readonly string[] = []): Promise<Told> {
  const count = client.statuses.length
  const more = lines.map((each) => `${each}\r\n`).join('')
  const line = await running.log.after(() => client.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`), {
    event: 'request',
  })
  await running.log.until(
    'the answer',
    () => client.statuses.length > count && client.received.endsWith(bodyOf(client)),
  )
  return { status: client.statuses[count] ?? 0, body: bodyOf(client), line }
}

function bodyOf(client: RawClient): string {
  return client.received.slice(client.received.lastIndexOf('\r\n\r\n') + 4)
}

/** Connects and waits until the server has closed, or an answer has come. */
async function knock(port: number, header: Buffer = Buffer.alloc(0)): Promise<'answered' | 'closed'> {
  const socket: Socket = connect(port, '127.0.0.1')
  const client = new RawClient(socket)
  await once(socket, 'connect')
  socket.write(header)
  client.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  await Promise.race([once(socket, 'data'), once(socket, 'close')])
  socket.destroy()
  return client.received === '' ? 'closed' : 'answered'
}

const believing = { clientAddress: { from: ['cdn'], header: 'CF-Connecting-IP' }, trustProto: true }

test('through a layer-4 edge the header is believed of the CDN that the edge names, and both claims are told', async (t) => {
  const running = await start(t, { proxyProtocol: edge, ...believing })
  const client = await connectBehind(running, headerOf('192.0.2.9'))
  const { body, line } = await ask(running, client, ['CF-Connecting-IP: 203.0.113.9', 'X-Forwarded-Proto: http'])
  assert.equal(body, '203.0.113.9 http 203.0.113.9')
  assert.deepEqual([line['claimed'], line['claimedBy']], ['203.0.113.9', 'header:cf-connecting-ip'])
  assert.deepEqual([line['connectionClaimed'], line['connectionClaimedBy']], ['192.0.2.9:4711', 'proxy-v2'])
  assert.match(String(line['peer']), /^127\.0\.0\.1:/)
  assert.equal('claimRefused' in line, false)
})

test('through a layer-4 edge the header of anybody else is a forgery, and only the edge’s claim is told', async (t) => {
  const running = await start(t, { proxyProtocol: edge, ...believing })
  for (const address of ['192.0.3.9', '203.0.113.1', '2001:db8:ce::1', '127.0.0.1']) {
    const client = await connectBehind(running, headerOf(address))
    const { body, line } = await ask(running, client, ['CF-Connecting-IP: 6.6.6.6', 'X-Forwarded-Proto: http'])
    assert.equal(body, `${address} https undefined`)
    assert.deepEqual(
      [line['claimed'], line['claimedBy']],
      [`${address.includes(':') ? `[${address}]` : address}:4711`, 'proxy-v2'],
    )
    assert.equal('connectionClaimed' in line, false)
    client.destroy()
  }
  const unclaimed = await connectBehind(running, Buffer.alloc(0))
  const { body, line } = await ask(running, unclaimed, ['CF-Connecting-IP: 6.6.6.6'])
  assert.deepEqual([body, line['claimed']], ['127.0.0.1 https undefined', null])
})

test('a CDN’s address that is mapped into IPv6 is the CDN’s', async (t) => {
  const running = await start(t, { proxyProtocol: edge, ...believing })
  for (const address of ['::ffff:192.0.2.9', '2001:db8:cd::9']) {
    const client = await connectBehind(running, headerOf(address))
    assert.match((await ask(running, client, ['CF-Connecting-IP: ::ffff:203.0.113.9'])).body, /^203\.0\.113\.9 /)
    client.destroy()
  }
})

test('a header that is not believed is told of with the reason, and the request is the CDN’s own', async (t) => {
  const running = await start(t, { proxyProtocol: edge, ...believing })
  const client = await connectBehind(running, headerOf('192.0.2.9'))
  const { status, body, line } = await ask(running, client, [
    'CF-Connecting-IP: 203.0.113.9',
    'cf-connecting-ip: 6.6.6.6',
  ])
  assert.deepEqual([status, body], [200, '192.0.2.9 https undefined'])
  assert.deepEqual([line['claimed'], line['claimRefused']], ['192.0.2.9:4711', 'duplicated'])
  assert.equal((await ask(running, client, ['CF-Connecting-IP: 203.0.113.9'])).line['claimed'], '203.0.113.9')
})

test('a set is followed: an open connection is believed from the next request on, and no longer once its range has gone', async (t) => {
  const running = await start(t, { proxyProtocol: edge, ...believing })
  const client = await connectBehind(running, headerOf('203.0.113.77'))
  const header = ['CF-Connecting-IP: 203.0.113.9']
  assert.match((await ask(running, client, header)).body, /^203\.0\.113\.77 /)
  const grown = `${cdn}203.0.113.64/26\n`
  await running.log.after(() => running.workspace.write('sets/cdn.txt', grown), { event: 'config_reloaded' })
  assert.match((await ask(running, client, header)).body, /^203\.0\.113\.9 /)
  await running.log.after(() => running.workspace.write('sets/cdn.txt', cdn), { event: 'config_reloaded' })
  assert.match((await ask(running, client, header)).body, /^203\.0\.113\.77 /)
})

test('a site’s own addresses are asked for each request, as the set says at that moment', async (t) => {
  const running = await start(t, {}, {}, { allow: { from: ['cdn'] } })
  const client = await RawClient.connect(running.port('plain'))
  const { status, line } = await ask(running, client)
  assert.deepEqual([status, line['reason'], line['vhost']], [403, 'peer_not_allowed', host])
  await running.log.after(() => running.workspace.write('sets/cdn.txt', '127.0.0.1\n'), { event: 'config_reloaded' })
  assert.equal((await ask(running, client)).status, 200)
  await running.log.after(() => running.workspace.write('sets/cdn.txt', cdn), { event: 'config_reloaded' })
  assert.equal((await ask(running, client)).status, 403)
  client.destroy()
})

test('a site with a mistake keeps its last good version, with the set as it is now', async (t) => {
  const running = await start(t, {}, {}, { allow: { from: ['cdn'] } })
  const client = await RawClient.connect(running.port('plain'))
  assert.equal((await ask(running, client)).status, 403)
  const [site] = running.main['vhosts'] as object[]
  await running.log.after(() => running.change({ vhosts: [{ ...site, allow: { from: ['nobody'] } }] }), {
    event: 'site_degraded',
  })
  assert.equal((await ask(running, client)).status, 403)
  await running.log.after(() => running.workspace.write('sets/cdn.txt', '127.0.0.1\n'), { event: 'config_reloaded' })
  assert.equal((await ask(running, client)).status, 200)
  client.destroy()
})

test('a set that is broken, empty or gone is told at its place, and the last good one stays', async (t) => {
  const running = await start(t, { allow: { from: ['cdn'] } })
  const write = (text: string) => () => running.workspace.write('sets/cdn.txt', text)
  const broken: readonly (readonly [change: () => void, place: RegExp, message: RegExp])[] = [
    [write('192.0.2.0/24\n <html>\n'), /cdn\.txt:2:2$/, /"<html>" is not an IP address/],
    [write('\n# nothing\n'), /cdn\.txt:1:1$/, /address set "cdn" is empty/],
    [() => running.workspace.delete('sets/cdn.txt'), /main\.yaml:\d+:\d+$/, /cdn\.txt cannot be read: no such file/],
    [write(''), /cdn\.txt:1:1$/, /address set "cdn" is empty/],
  ]
  for (const [change, place, message] of broken) {
    const told = await running.log.after(change, { event: 'config_rejected' })
    const [error] = told['errors'] as ConfigError[]
    assert.ok(error)
    assert.match(error.message, message)
    assert.match(`${error.file}:${error.line}:${error.column}`, place)
    for (const name of ['public', 'plain']) assert.equal(await knock(running.port(name)), 'closed')
  }
  await running.log.after(() => running.workspace.write('sets/cdn.txt', '127.0.0.0/8\n'), { event: 'config_reloaded' })
  assert.equal(await knock(running.port('plain')), 'answered')
})

test('a cold start on an empty set serves nobody', async (t) => {
  const workspace = new Workspace()
  t.after(() => workspace.remove())
  workspace.write('cdn.txt', '# to come\n')
  const listeners = [{ name: 'plain', bind: '127.0.0.1:0', tls: false, allow: { from: ['cdn'] } }]
  workspace.write('main.yaml', { addressSets: { cdn: 'cdn.txt' }, listeners, vhosts: [] })
  const server = new Server({ mainFile: workspace.path('main.yaml') })
  const errors = await server.start()
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['address set "cdn" is empty'],
  )
  assert.deepEqual(server.listeners, [])
  await server.close()
})

test('strangers are closed at accept or behind their header, counted, and told of in no line', async (t) => {
  const running = await start(t, { proxyProtocol: edge, allow: { from: ['cdn'], of: 'claimed' } })
  const before = running.log.lines().length
  for (let round = 0; round < 50; round++) {
    const name = round % 2 === 0 ? 'public' : 'plain'
    assert.equal(await knock(running.port(name), headerOf('203.0.113.9')), 'closed')
  }
  assert.equal(await knock(running.port('plain')), 'closed')
  assert.equal(running.log.lines().length, before)
  assert.equal(await knock(running.port('plain'), headerOf('192.0.2.9')), 'answered')
  const client = await connectBehind(running, headerOf('2001:db8:cd::9'))
  assert.equal((await ask(running, client)).status, 200)
  client.destroy()
  await running.server.close()
  const counts = [
    await running.log.line({ event: 'connections', listener: 'public' }),
    await running.log.line({ event: 'connections', listener: 'plain' }),
  ].map((line) => [line['accepted'], line['refusedByAllow'], line['handshakesFailed'], line['withoutRequest']])
  assert.deepEqual(counts, [
    [26, 25, 0, 0],
    [27, 26, 0, 0],
  ])
})

test('an address that a reload shuts out has its open connections ended with their next request', async (t) => {
  const running = await start(t, { proxyProtocol: edge, allow: { from: ['cdn'], of: 'claimed' } })
  const clients = [headerOf('192.0.2.9'), headerOf('2001:db8:cd::9')].map((header) => connectBehind(running, header))
  const [goes, stays] = (await Promise.all(clients)) as [RawClient, RawClient]
  for (const client of [goes, stays]) assert.equal((await ask(running, client)).status, 200)
  const reloaded = { event: 'config_reloaded' }
  await running.log.after(() => running.workspace.write('sets/cdn.txt', '2001:db8:cd::/48\n'), reloaded)
  const { status, line } = await ask(running, goes)
  assert.deepEqual([status, line['reason']], [403, 'peer_not_allowed'])
  await goes.ends()
  assert.equal((await ask(running, stays)).status, 200)
  stays.destroy()
})

test('ten thousand ranges are a set like any other', async (t) => {
  const ranges = Array.from({ length: 10_000 }, (_, index) => `10.${index >> 8}.${index & 255}.0/25`)
  const running = await start(t, { proxyProtocol: edge, ...believing })
  await running.log.after(() => running.workspace.write('sets/cdn.txt', ranges.join('\n')), {
    event: 'config_reloaded',
  })
  for (const [address, expected] of [
    ['10.39.15.127', '203.0.113.9'],
    ['10.39.15.128', '10.39.15.128'],
    ['10.0.0.0', '203.0.113.9'],
    ['10.39.16.0', '10.39.16.0'],
  ] as const) {
    const client = await connectBehind(running, headerOf(address))
    assert.equal(
      (await ask(running, client, ['CF-Connecting-IP: 203.0.113.9'])).line['claimed'],
      expected === address ? `${address}:4711` : expected,
    )
    client.destroy()
  }
})

test('a plain listener behind a CDN that speaks https to clients redirects each of them once', async (t) => {
  const listener = { clientAddress: { from: ['cdn', '127.0.0.0/8'], header: 'CF-Connecting-IP' }, trustProto: true }
  const running = await start(t, {})
  await running.reload({
    listeners: [
      { name: 'public', bind: '127.0.0.1:0' },
      { name: 'plain', bind: '127.0.0.1:0', tls: false, redirectToHttps: true, ...listener },
    ],
  })
  const client = await RawClient.connect(running.port('plain'))
  const first = await ask(running, client, ['CF-Connecting-IP: 203.0.113.9', 'X-Forwarded-Proto: http'])
  assert.equal(first.status, 308)
  assert.match(client.received, /^location: https:\/\/site\.example\/\r$/m)
  const second = await ask(running, client, ['CF-Connecting-IP: 203.0.113.9', 'X-Forwarded-Proto: https'])
  assert.deepEqual([second.status, second.body], [200, '203.0.113.9 https 203.0.113.9'])
  client.destroy()
})
