// Tunnels over reloads: those of a site that stays live on, those of a site that is gone end.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { makeAuthority, makeCertificate } from '../support/certificates.js'
import { until } from '../support/deadline.js'
import { portOf } from '../support/port.js'
import { RunningServer } from '../support/running-server.js'
import { filesOf, Workspace } from '../support/workspace.js'

/** A service that switches to an echo; closed with the test. */
async function echoService(t: TestContext): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  server.on('upgrade', (_, socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n')
    socket.pipe(socket)
  })
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${portOf(server)}`
}

class Tunnel {
  readonly socket: TLSSocket
  received = ''
  isEnded = false

  constructor(socket: TLSSocket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.received += chunk.toString('latin1')
    })
    socket.on('close', () => {
      this.isEnded = true
    })
    socket.on('error', () => undefined)
  }

  static async open(t: TestContext, port: number, host: string, tls: ConnectionOptions = {}): Promise<Tunnel> {
    const socket = connect({ port, host: '127.0.0.1', servername: host, rejectUnauthorized: false, ...tls })
    t.after(() => socket.destroy())
    await once(socket, 'secureConnect')
    const tunnel = new Tunnel(socket)
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n`)
    await until('the protocol is switched', () => /^HTTP\/1.1 101 .*\r\n\r\n$/s.test(tunnel.received))
    return tunnel
  }

  async echoes(text: string): Promise<void> {
    this.socket.write(text)
    await until(`"${text}" comes back`, () => this.received.endsWith(text))
  }
}

test('a tunnel outlives changes of its site and of others, and ends with its site', async (t) => {
  const [upstream, other] = [await echoService(t), await echoService(t)]
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['stays.example', 'goes.example'] })
  const site = (host: string, url: string, more = {}) => {
    return { hosts: [host], certificate: filesOf(pair), upstream: url, ...more }
  }
  const main = {
    vhosts: [site('stays.example', upstream), site('goes.example', upstream)],
    timeouts: { shutdownMs: 100 },
  }
  const running = await RunningServer.startFor(t, main, workspace)
  const stays = await Tunnel.open(t, running.port(), 'stays.example')
  const goes = await Tunnel.open(t, running.port(), 'goes.example')

  await running.reload({ vhosts: [site('stays.example', upstream, { via: false }), site('goes.example', upstream)] })
  await stays.echoes('still here')
  await goes.echoes('still here too')

  await running.reload({ vhosts: [site('stays.example', other)] })
  await until('the tunnel of the removed site ends', () => goes.isEnded)
  await stays.echoes('and here')
  const line = await running.log.line({ event: 'request', vhost: 'goes.example' })
  assert.equal(line['reason'], 'site_removed')
  assert.equal(line['status'], 101)
})

test('a tunnel ends with its own host, although its site goes on under another', async (t) => {
  const upstream = await echoService(t)
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['stays.example', 'goes.example'] })
  const site = (...hosts: string[]) => ({ hosts, certificate: filesOf(pair), upstream })
  const main = { vhosts: [site('stays.example', 'goes.example')], timeouts: { shutdownMs: 100 } }
  const running = await RunningServer.startFor(t, main, workspace)
  const stays = await Tunnel.open(t, running.port(), 'stays.example')
  const goes = await Tunnel.open(t, running.port(), 'goes.example')
  await running.reload({ vhosts: [site('stays.example')] })
  await until('the tunnel of the host ends', () => goes.isEnded)
  await stays.echoes('still here')
})

test('a tunnel ends when its site or its listener takes other addresses alone, and no sooner', async (t) => {
  const upstream = await echoService(t)
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['closes.example', 'stays.example'] })
  const us = { allow: { from: ['127.0.0.0/8'] } }
  const others = { allow: { from: ['192.0.2.0/24'] } }
  const sites = (closes: object) => [
    { hosts: ['closes.example'], certificate: filesOf(pair), upstream, ...closes },
    { hosts: ['stays.example'], certificate: filesOf(pair), upstream, ...us },
  ]
  const listeners = (public_: object, other: object) => [
    { name: 'public', bind: '127.0.0.1:0', ...public_ },
    { name: 'other', bind: '127.0.0.1:0', ...other },
  ]
  const main = { listeners: listeners({}, us), vhosts: sites(us), timeouts: { shutdownMs: 100 } }
  const running = await RunningServer.startFor(t, main, workspace)
  const closes = await Tunnel.open(t, running.port(), 'closes.example')
  const stays = await Tunnel.open(t, running.port(), 'stays.example')
  const elsewhere = await Tunnel.open(t, running.port('other'), 'stays.example')

  await running.reload({ vhosts: sites(others) })
  await until('the tunnel of the site ends', () => closes.isEnded)
  await elsewhere.echoes('still here')

  await running.reload({ listeners: listeners(us, others) })
  await until('the tunnel of the listener ends', () => elsewhere.isEnded)
  await stays.echoes('still here too')
  const refused = { event: 'request', status: 101, reason: 'peer_not_allowed' }
  const lines = [await running.log.line(refused), await running.log.line(refused, 2)]
  assert.deepEqual(
    lines.map((line) => [line['vhost'], line['listener']]),
    [
      ['closes.example', 'public'],
      ['stays.example', 'other'],
    ],
  )
})

test('a tunnel ends when the certificate of its client does', async (t) => {
  const upstream = await echoService(t)
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['site.example'] })
  const authority = await makeAuthority({ commonName: 'clients' })
  workspace.write('ca.pem', authority.cert)
  const vhosts = [
    { hosts: ['site.example'], certificate: filesOf(pair), upstream, clientCertificate: { ca: 'ca.pem' } },
  ]
  const running = await RunningServer.startFor(t, { vhosts, timeouts: { shutdownMs: 100 } }, workspace)
  const [short, long] = [
    await makeCertificate({ issuer: authority, notAfter: new Date(Date.now() + 3_000) }),
    await makeCertificate({ issuer: authority }),
  ]
  const ends = await Tunnel.open(t, running.port(), 'site.example', { cert: short.chain, key: short.key })
  const stays = await Tunnel.open(t, running.port(), 'site.example', { cert: long.chain, key: long.key })
  const line = await running.log.line({ event: 'request', vhost: 'site.example' })
  assert.equal(line['reason'], 'client_certificate_expired')
  await until('the tunnel is closed', () => ends.isEnded)
  await stays.echoes('still here')
})

test('a tunnel that a client certificate opened ends when its site demands another one, and no sooner', async (t) => {
  const upstream = await echoService(t)
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['changes.example', 'stays.example'] })
  const [one, two] = [await makeAuthority({ commonName: 'one' }), await makeAuthority({ commonName: 'two' })]
  workspace.write('one.pem', one.cert)
  workspace.write('two.pem', two.cert)
  const site = (host: string, ca: string) => {
    return { hosts: [host], certificate: filesOf(pair), upstream, clientCertificate: { ca } }
  }
  const main = {
    vhosts: [site('changes.example', 'one.pem'), site('stays.example', 'one.pem')],
    timeouts: { shutdownMs: 100 },
  }
  const running = await RunningServer.startFor(t, main, workspace)
  const client = await makeCertificate({ issuer: one })
  const shown = { cert: client.chain, key: client.key }
  const changes = await Tunnel.open(t, running.port(), 'changes.example', shown)
  const stays = await Tunnel.open(t, running.port(), 'stays.example', shown)
  await running.reload({ vhosts: [site('changes.example', 'two.pem'), site('stays.example', 'one.pem')] })
  await until('the tunnel ends', () => changes.isEnded)
  await stays.echoes('still here')
  const line = await running.log.line({ event: 'request', vhost: 'changes.example' })
  assert.equal(line['reason'], 'client_certificate_other_connection')
})
