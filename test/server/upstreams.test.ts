// Upstreams as the configuration names them: what becomes of endpoints, their health and their connections in a reload.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type TestContext, test } from 'node:test'
import { makeAuthority, makeCertificate } from '../support/certificates.js'
import { until } from '../support/deadline.js'
import { portOf } from '../support/port.js'
import { RunningServer } from '../support/running-server.js'
import { filesOf, Workspace } from '../support/workspace.js'

/** A service that says its name; closed with the test. */
interface Service {
  readonly server: Server
  readonly url: string
  connections: number
}

async function service(t: TestContext, name: string, listener?: RequestListener): Promise<Service> {
  const server = createPlainServer(listener ?? ((_, response) => response.end(name))).listen(0, '127.0.0.1')
  return await opened(t, server, 'http')
}

async function opened(t: TestContext, server: Server, scheme: 'http' | 'https'): Promise<Service> {
  await once(server, 'listening')
  const opened: Service = { server, url: `${scheme}://127.0.0.1:${portOf(server)}`, connections: 0 }
  server.on('connection', () => {
    opened.connections++
  })
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return opened
}

async function start(t: TestContext, main: object): Promise<RunningServer> {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['site.example'] })
  const vhosts = [{ hosts: ['site.example'], certificate: filesOf(pair), upstream: 'app' }]
  return await RunningServer.startFor(t, { vhosts, ...main }, workspace)
}

async function bodies(running: RunningServer, count: number): Promise<string[]> {
  const client = await running.connect('site.example')
  const answers: string[] = []
  for (let index = 0; index < count; index++) answers.push((await client.ask('site.example')).body)
  return answers
}

test('requests go to the endpoints in turn, by their weights, and to a backup only when no other is left', async (t) => {
  const [one, two, backup] = [await service(t, 'one'), await service(t, 'two'), await service(t, 'backup')]
  const endpoints = [one.url, { url: two.url, weight: 2 }, { url: backup.url, backup: true }]
  const running = await start(t, { upstreams: { app: { endpoints } } })
  const answers = await bodies(running, 6)
  assert.deepEqual(answers.sort(), ['one', 'one', 'two', 'two', 'two', 'two'])
})

test('a service on a Unix socket answers, and so does one behind TLS whose authority is the configured one', async (t) => {
  const workspace = new Workspace()
  const socket = createPlainServer((_, response) => response.end('socket')).listen(workspace.path('app.sock'))
  await once(socket, 'listening')
  t.after(() => socket.close())
  const authority = await makeAuthority()
  const { chain, key } = await makeCertificate({ names: ['inside.example'], issuer: authority })
  const tls = await opened(
    t,
    createTlsServer({ cert: chain, key }, (request, response) => response.end(`tls ${request.headers.host}`)).listen(
      0,
      '127.0.0.1',
    ),
    'https',
  )
  workspace.write('ca.pem', authority.cert)
  const pair = await workspace.pair('site', { names: ['socket.example', 'tls.example', 'untrusted.example'] })
  const site = (host: string, upstream: string) => ({ hosts: [host], certificate: filesOf(pair), upstream })
  const main = {
    upstreams: {
      tls: { endpoints: [tls.url], tls: { serverName: 'inside.example', ca: 'ca.pem' } },
      untrusted: { endpoints: [tls.url] },
    },
    vhosts: [
      site('socket.example', `unix:${workspace.path('app.sock')}`),
      site('tls.example', 'tls'),
      site('untrusted.example', 'untrusted'),
    ],
  }
  const running = await RunningServer.startFor(t, main, workspace)
  const client = await running.connect('tls.example')
  assert.equal((await client.ask('socket.example')).body, 'socket')
  assert.equal((await client.ask('tls.example')).body, 'tls tls.example')
  assert.equal((await client.ask('untrusted.example')).status, 502)
  const line = await running.log.line({ event: 'request', host: 'untrusted.example' })
  assert.equal(line['reason'], 'upstream_tls')
  assert.match(
    String(line['detail']),
    /^127\.0\.0\.1:\d+: its certificate, issued by CN=test authority, .* \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)$/,
  )
})

test('connections and health of an endpoint outlive a reload that changes something else of its upstream', async (t) => {
  const one = await service(t, 'one')
  const running = await start(t, { upstreams: { app: { endpoints: [one.url] } } })
  await bodies(running, 2)
  const passive = { failures: 3, windowMs: 1_000, ejectMs: 1_000 }
  await running.reload({
    upstreams: { app: { endpoints: [{ url: one.url, weight: 5 }], passive, balance: 'least-requests' } },
    log: { file: 'hostward.log', query: false },
  })
  await bodies(running, 2)
  assert.equal(one.connections, 1)
})

test('an endpoint that fails its checks gets no requests, which is told once, and again when it is well', async (t) => {
  let isWell = true
  const sick = await service(t, 'sick', (request, response) => {
    if (request.url === '/healthz' && !isWell) response.statusCode = 500
    response.end('sick')
  })
  const well = await service(t, 'well')
  const healthCheck = { path: '/healthz', intervalMs: 100, timeoutMs: 100, rise: 1, fall: 1 }
  const running = await start(t, { upstreams: { app: { endpoints: [sick.url, well.url], healthCheck } } })
  isWell = false
  const down = await running.log.line({ event: 'endpoint_down' })
  assert.equal(down['endpoint'], sick.url)
  assert.match(String(down['detail']), /500/)
  assert.deepEqual(new Set(await bodies(running, 4)), new Set(['well']))
  isWell = true
  await running.log.line({ event: 'endpoint_up', endpoint: sick.url })
  assert.deepEqual(new Set(await bodies(running, 4)), new Set(['sick', 'well']))
  assert.equal(running.log.lines({ event: 'endpoint_down' }).length, 1)
})

test('the connections of an endpoint that is configured no more close, and nobody checks it', async (t) => {
  const [gone, kept] = [await service(t, 'gone'), await service(t, 'kept')]
  const running = await start(t, { upstreams: { app: { endpoints: [gone.url] } } })
  await bodies(running, 1)
  const open = () => new Promise<number>((resolve) => gone.server.getConnections((_, count) => resolve(count)))
  assert.equal(await open(), 1)
  await running.reload({ upstreams: { app: { endpoints: [kept.url] } } })
  assert.deepEqual(await bodies(running, 2), ['kept', 'kept'])
  let connections = 1
  const look = () => void open().then((count) => (connections = count))
  await until('its connection closes', () => {
    look()
    return connections === 0
  })
})

test('an authority that cannot be read breaks the sites of its upstream alone, and they keep the last good one', async (t) => {
  const authority = await makeAuthority()
  const { chain, key } = await makeCertificate({ names: ['inside.example'], issuer: authority })
  const tls = await opened(
    t,
    createTlsServer({ cert: chain, key }, (_, response) => response.end('tls')).listen(0, '127.0.0.1'),
    'https',
  )
  const other = await service(t, 'other')
  const workspace = new Workspace()
  workspace.write('ca.pem', authority.cert)
  const pair = await workspace.pair('site', { names: ['site.example', 'other.example'] })
  const upstreams = { app: { endpoints: [tls.url], tls: { serverName: 'inside.example', ca: 'ca.pem' } } }
  const vhosts = [
    { hosts: ['site.example'], certificate: filesOf(pair), upstream: 'app' },
    { hosts: ['other.example'], certificate: filesOf(pair), upstream: other.url },
  ]
  const running = await RunningServer.startFor(t, { upstreams, vhosts }, workspace)
  assert.deepEqual(await bodies(running, 1), ['tls'])
  const degraded = await running.log.after(() => workspace.write('ca.pem', '-----BEGIN CERTIFICATE-----\nAAAA'), {
    event: 'site_degraded',
  })
  assert.equal(degraded['vhost'], 'site.example')
  assert.equal(degraded['serves'], 'last_good')
  assert.match(JSON.stringify(degraded['errors']), /ca\.pem/)
  assert.deepEqual(await bodies(running, 1), ['tls'])
  await running.log.after(() => workspace.write('ca.pem', authority.cert), { event: 'site_restored' })
  assert.deepEqual(await bodies(running, 1), ['tls'])
})
