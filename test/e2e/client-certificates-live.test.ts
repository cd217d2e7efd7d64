// Client certificates while things change: reloads, dates that pass on open connections, what services and the log are
// told, and the ways around that lead nowhere.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { connect as connectPlain } from 'node:net'
import { before, type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { type CertificatePair, makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'
import { within } from '../support/deadline.js'
import { RunningServer } from '../support/running-server.js'
import { connectHttp1, type WireConnection, wires } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'

let root: TestAuthority
let intermediate: TestAuthority
let otherRoot: TestAuthority
let client: CertificatePair

before(async () => {
  root = await makeAuthority({ commonName: 'root' })
  intermediate = await makeAuthority({ commonName: 'intermediate', issuer: root })
  otherRoot = await makeAuthority({ commonName: 'other root' })
  client = await makeCertificate({ commonName: 'client', issuer: intermediate })
})

interface Stage {
  readonly running: RunningServer
  readonly workspace: Workspace
  readonly site: (host: string, keys?: object) => object
}

/** A server whose sites answer with the header lines that reach their service, as JSON. */
async function start(
  t: TestContext,
  sites: (site: Stage['site']) => readonly object[],
  main: object = {},
): Promise<Stage> {
  const upstream = createServer((request, response) => response.end(JSON.stringify(request.headers)))
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  t.after(() => upstream.close())
  const { port } = upstream.address() as AddressInfo
  const workspace = new Workspace()
  workspace.write('ca.pem', root.cert)
  workspace.write('other.pem', otherRoot.cert)
  const shared = await workspace.pair('shared', { names: ['*.example', 'example'] })
  const site = (host: string, keys: object = {}): object => {
    return { hosts: [host], certificate: filesOf(shared), upstream: `http://127.0.0.1:${port}`, ...keys }
  }
  const running = await RunningServer.startFor(t, { vhosts: sites(site), ...main }, workspace)
  return { running, workspace, site }
}

function shown(pair: CertificatePair): { cert: string; key: string } {
  return { cert: pair.chain, key: pair.key }
}

function openAll(running: RunningServer, servername: string, pair?: CertificatePair): Promise<WireConnection[]> {
  const tls = pair === undefined ? {} : shown(pair)
  return Promise.all(wires.map((wire) => wire.connect({ port: running.port(), servername, tls })))
}

async function statuses(connections: readonly WireConnection[], host: string): Promise<number[]> {
  return await Promise.all(connections.map(async (connection) => (await connection.ask(host)).status))
}

const demand = { clientCertificate: { ca: 'ca.pem' } }
const otherDemand = { clientCertificate: { ca: 'other.pem' } }

test('a demand that a reload brings holds for open connections, and changes no answer of any other site', async (t) => {
  const { running, site } = await start(t, (site) => [site('a.example'), site('b.example')])
  const open = await openAll(running, 'b.example', client)
  const stale = await openAll(running, 'a.example', client)
  assert.deepEqual(await statuses([...open, ...stale], 'a.example'), [200, 200, 200, 200])
  await running.reload({ vhosts: [site('a.example', demand), site('b.example')] })
  assert.deepEqual(await statuses([...open, ...stale], 'a.example'), [421, 421, 421, 421], 'nobody was asked on these')
  await Promise.all(stale.map((connection) => connection.ended()))
  assert.deepEqual(await statuses(open, 'b.example'), [200, 200])
  assert.deepEqual(await statuses(await openAll(running, 'a.example', client), 'a.example'), [200, 200])
  await running.reload({ vhosts: [site('a.example'), site('b.example')] })
  assert.deepEqual(await statuses(open, 'a.example'), [200, 200])
})

test('an authority that a reload takes away is trusted no more on open connections, one that it brings is at once', async (t) => {
  const equal = { clientCertificate: { ca: 'equal.pem' } }
  const { running, workspace, site } = await start(t, (site) => [site('b.example')])
  workspace.write('equal.pem', root.cert)
  await running.reload({ vhosts: [site('a.example', demand), site('equal.example', equal), site('b.example')] })
  const open = await openAll(running, 'equal.example', client)
  assert.deepEqual(await statuses(open, 'a.example'), [200, 200])
  await running.log.after(() => workspace.write('ca.pem', otherRoot.cert), { event: 'config_reloaded' })
  assert.deepEqual(await statuses(open, 'a.example'), [421, 421])
  assert.deepEqual(await statuses(await openAll(running, 'a.example', client), 'a.example'), [403, 403])
  await running.log.after(() => workspace.write('ca.pem', otherRoot.cert + root.cert), { event: 'config_reloaded' })
  assert.deepEqual(await statuses(open, 'a.example'), [200, 200], 'by our own check: OpenSSL was asked about others')
  assert.deepEqual(await statuses(open, 'b.example'), [200, 200])
})

test('pins that a reload changes hold for open connections', async (t) => {
  const pinned = (sans: string[]) => ({ clientCertificate: { ca: 'ca.pem', allow: { subjects: sans } } })
  const { running, site } = await start(t, (site) => [site('a.example', pinned(['CN=client']))])
  const open = await openAll(running, 'a.example', client)
  assert.deepEqual(await statuses(open, 'a.example'), [200, 200])
  await running.reload({ vhosts: [site('a.example', pinned(['CN=somebody else']))] })
  assert.deepEqual(await statuses(open, 'a.example'), [421, 421])
  await Promise.all(open.map((connection) => connection.ended()))
  assert.deepEqual(await statuses(await openAll(running, 'a.example', client), 'a.example'), [403, 403])
})

test('authorities that become unreadable leave the site as it was; at a cold start it stays closed', async (t) => {
  const { running, workspace } = await start(t, (site) => [site('a.example', demand), site('b.example')])
  const spoil = async (content: string): Promise<void> => {
    const degraded = { event: 'site_degraded', vhost: 'a.example', serves: 'last_good' }
    await running.log.after(() => workspace.write('ca.pem', content), degraded)
    assert.deepEqual(await statuses(await openAll(running, 'a.example', client), 'a.example'), [200, 200])
    assert.deepEqual(await statuses(await openAll(running, 'a.example'), 'a.example'), [403, 403])
    const restored = { event: 'site_restored', vhost: 'a.example' }
    await running.log.after(() => workspace.write('ca.pem', `${root.cert}# after ${content.length}\n`), restored)
  }
  for (const content of ['', 'junk', root.cert.slice(0, -30), root.cert + client.cert]) await spoil(content)
  await running.log.after(() => workspace.write('ca.pem', ''), { event: 'site_degraded', vhost: 'a.example' })
  const cold = await RunningServer.startFor(t, { ...running.main, log: { file: 'cold.log' } }, workspace)
  const open = await openAll(cold, 'b.example', client)
  assert.deepEqual(await statuses(open, 'a.example'), [421, 421])
  assert.deepEqual(await statuses(open, 'b.example'), [200, 200])
})

test('a certificate that ends is refused on the connection that it opened', async (t) => {
  const { running } = await start(t, (site) => [site('a.example', demand), site('b.example')])
  const short = await makeCertificate({ issuer: intermediate, notAfter: new Date(Date.now() + 3_000) })
  const open = await openAll(running, 'a.example', short)
  assert.deepEqual(await statuses(open, 'a.example'), [200, 200])
  const untilRefused = async (connection: WireConnection): Promise<void> => {
    let status = 200
    while (status === 200) ({ status } = await connection.ask('a.example'))
    // A renewed certificate comes on a new connection, and this one would be refused as long as it is pooled.
    await connection.ended()
  }
  await within('the end of the certificate', Promise.all(open.map(untilRefused)))
  const line = await running.log.line({ event: 'request', status: 403 }, 2)
  assert.equal(line['reason'], 'client_certificate_expired')
  assert.deepEqual(await statuses(await openAll(running, 'a.example', client), 'a.example'), [200, 200])
})

test('a service is told of a good certificate alone, and of nothing that the client says itself', async (t) => {
  const forward = { header: 'Client-Cert', chainHeader: 'Client-Cert-Chain' }
  const { running } = await start(t, (site) => [
    site('told.example', { clientCertificate: { ca: 'ca.pem', mode: 'request', forward } }),
    site('own.example', { clientCertificate: { ca: 'ca.pem', mode: 'request', forward: { header: 'X-Who' } } }),
    site('untold.example', { clientCertificate: { ca: 'ca.pem' } }),
    site('open.example'),
  ])
  const lies = [
    'Client-Cert',
    'client_cert',
    'CLIENT-CERT-CHAIN',
    'Client_Cert-Chain',
    'X-Who',
    'x_who',
    'x.who',
    'client.cert',
  ]
  const tell = async (servername: string, host: string, pair?: CertificatePair): Promise<Record<string, string>> => {
    const connection = await connectHttp1({
      port: running.port(),
      servername,
      tls: pair === undefined ? {} : shown(pair),
    })
    const lines = lies.map((name) => `${name}: :bGllcw==:\r\n`).join('')
    const { socket } = connection
    socket.removeAllListeners('data')
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n${lines}Connection: close, client-cert, x-who\r\n\r\n`)
    let text = ''
    socket.setEncoding('latin1').on('data', (piece: string) => (text += piece))
    await within('the answer', once(socket, 'close'))
    return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as Record<string, string>
  }
  const derOf = (pem: string): string => `:${new X509Certificate(pem).raw.toString('base64')}:`
  const told = await tell('told.example', 'told.example', client)
  assert.equal(told['client-cert'], derOf(client.cert))
  assert.equal(told['client-cert-chain'], derOf(intermediate.cert))
  assert.equal(told['client_cert'], undefined)
  const stranger = await makeCertificate({ commonName: 'client', issuer: otherRoot })
  for (const pair of [undefined, stranger]) {
    const { 'client-cert': leaf, 'client-cert-chain': chain } = await tell('told.example', 'told.example', pair)
    assert.deepEqual([leaf, chain], [undefined, undefined])
  }
  const own = await tell('own.example', 'own.example', client)
  assert.deepEqual([own['x-who'], own['x_who'], own['client-cert']], [derOf(client.cert), undefined, undefined])
  assert.deepEqual([own['x.who'], own['client.cert']], [undefined, undefined])
  const other = await tell('told.example', 'own.example', client)
  assert.equal(other['x-who'], derOf(client.cert), 'equal policies are interchangeable, whatever each forwards')
  const nobody = await tell('open.example', 'own.example', client)
  assert.equal(nobody['x-who'], undefined, 'nobody was asked on this connection')
  for (const host of ['untold.example', 'open.example']) {
    const { 'client-cert': leaf, client_cert: alike } = await tell('untold.example', host, client)
    assert.deepEqual([leaf, alike], [undefined, undefined], host)
  }
})

test('the log says who came, for sites that demand it, and why one was refused', async (t) => {
  const { running } = await start(t, (site) => [
    site('a.example', demand),
    site('b.example', otherDemand),
    site('open.example'),
  ])
  const [open] = await openAll(running, 'a.example', client)
  const fingerprint = new X509Certificate(client.cert).fingerprint256.replaceAll(':', '').toLowerCase()
  const expected = [
    { host: 'a.example', reason: 'ok', clientCertificate: fingerprint, clientSubject: 'CN=client' },
    {
      host: 'b.example',
      reason: 'client_certificate_other_connection',
      clientCertificate: fingerprint,
      clientSubject: 'CN=client',
    },
    { host: 'open.example', reason: 'ok', clientCertificate: undefined, clientSubject: undefined },
  ]
  for (const { host, ...fields } of expected) {
    const line = await running.log.after(() => open?.ask(host), { event: 'request', host })
    const { reason, clientCertificate, clientSubject } = line
    assert.deepEqual({ reason, clientCertificate, clientSubject }, fields)
  }
  const [nobody] = await openAll(running, 'a.example')
  const line = await running.log.after(() => nobody?.ask('a.example'), { event: 'request', status: 403 })
  assert.deepEqual([line['reason'], line['clientCertificate']], ['client_certificate_missing', undefined])
})

test('on a listener without TLS a site that demands a certificate is closed, whatever the request says', async (t) => {
  const listeners = [
    { name: 'public', bind: '127.0.0.1:0' },
    { name: 'plain', bind: '127.0.0.1:0', tls: false },
  ]
  const both = { listeners: ['public', 'plain'] }
  const { running } = await start(t, (site) => [site('a.example', { ...demand, ...both }), site('b.example', both)], {
    listeners,
  })
  const ask = async (host: string): Promise<string> => {
    const socket = connectPlain(running.port('plain'), '127.0.0.1').setEncoding('latin1')
    let text = ''
    socket.on('data', (piece: string) => (text += piece))
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nClient-Cert: :AA==:\r\nConnection: close\r\n\r\n`)
    await within('the answer', once(socket, 'close'))
    return text.slice(9, 12)
  }
  assert.equal(await ask('a.example'), '421')
  assert.equal(await ask('b.example'), '200')
})

test('a site that demands TLS 1.3 is not served over TLS 1.2, for whatever name that was opened', async (t) => {
  const { running } = await start(t, (site) => [
    site('new.example', { tls: { minVersion: 'TLSv1.3' } }),
    site('old.example'),
  ])
  const at = (version: 'TLSv1.2' | 'TLSv1.3', servername: string) => {
    return connectHttp1({ port: running.port(), servername, tls: { minVersion: version, maxVersion: version } })
  }
  const old = await at('TLSv1.2', 'old.example')
  assert.equal((await old.ask('old.example')).status, 200)
  const line = await running.log.after(() => old.ask('new.example'), { event: 'request', status: 421 })
  assert.equal(line['reason'], 'tls_version_other_connection')
  await assert.rejects(at('TLSv1.2', 'new.example'))
  for (const name of ['new.example', 'old.example']) {
    assert.equal((await (await at('TLSv1.3', name)).ask('new.example')).status, 200)
  }
})

test('a listener speaks the versions and the ciphers that it is set to, and a reload changes them', async (t) => {
  const listener = (tls: object) => ({ listeners: [{ name: 'public', bind: '127.0.0.1:0', tls }] })
  const ciphers = ['TLS_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384']
  const { running } = await start(t, (site) => [site('a.example')], listener({ ciphers }))
  const cipherOver = async (version: 'TLSv1.2' | 'TLSv1.3'): Promise<string> => {
    const tls = { minVersion: version, maxVersion: version }
    const { socket } = await connectHttp1({ port: running.port(), servername: 'a.example', tls })
    return socket.getCipher().name
  }
  assert.deepEqual([await cipherOver('TLSv1.3'), await cipherOver('TLSv1.2')], ciphers)
  await running.reload(listener({ minVersion: 'TLSv1.3' }))
  await assert.rejects(cipherOver('TLSv1.2'))
  assert.equal(await cipherOver('TLSv1.3'), 'TLS_AES_256_GCM_SHA384')
})

test('an authority of client certificates that nears its end is told of like a certificate, with its sites', async (t) => {
  const notBefore = new Date(Date.now() - 30 * 86_400_000)
  const notAfter = new Date(Date.now() + 3_600_000)
  const ending = await makeAuthority({ commonName: 'ending', notBefore, notAfter })
  const { running, workspace, site } = await start(t, (site) => [site('b.example')])
  workspace.write('ending.pem', root.cert + ending.cert)
  const both = ['a.example', 'c.example'].map((host) => site(host, { clientCertificate: { ca: 'ending.pem' } }))
  const told = { event: 'certificate_expiry', kind: 'client_ca' }
  const line = await running.log.after(() => running.change({ vhosts: both }), told)
  assert.deepEqual([line['vhosts'], line['state']], [['a.example', 'c.example'], 'critical'])
  assert.match(String(line['certificate']), /^CN=ending/)
})

test('a site that demands a certificate is announced to no connection', async (t) => {
  const listeners = [{ name: 'public', bind: '127.0.0.1:0', announceOrigins: true }]
  const { running } = await start(t, (site) => [site('a.example', demand), site('b.example')], { listeners })
  for (const servername of ['a.example', 'b.example']) {
    const session = connectHttp2('https://localhost', {
      createConnection: () =>
        connectTls({
          port: running.port(),
          host: '127.0.0.1',
          servername,
          rejectUnauthorized: false,
          ALPNProtocols: ['h2'],
        }),
    })
    const [origins] = await within('the frame', once(session, 'origin'))
    assert.deepEqual(origins, ['https://b.example'])
    session.destroy()
  }
})

test('a session outlives a reload that leaves its site as it was, and ends with one that makes the site demand a certificate', async (t) => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { running, site } = await start(t, (site) => [site('a.example')])
    const open = async (session?: Buffer): Promise<{ isResumed: boolean; session: Buffer | undefined }> => {
      const tls = { minVersion: version, maxVersion: version, ...shown(client), ...(session && { session }) }
      const connection = await connectHttp1({ port: running.port(), servername: 'a.example', tls })
      let made: Buffer | undefined = connection.socket.getSession()
      connection.socket.on('session', (ticket: Buffer) => {
        made = ticket
      })
      const isResumed = connection.socket.isSessionReused()
      await connection.ask('a.example')
      connection.close()
      return { isResumed, session: made }
    }
    const { session } = await open()
    await running.reload({ vhosts: [site('a.example', { via: false }), site('b.example')] })
    assert.equal((await open(session)).isResumed, true, version)
    await running.reload({ vhosts: [site('a.example', demand), site('b.example')] })
    assert.equal((await open(session)).isResumed, false, version)
  }
})
