// What certs --served finds out about running servers: ours, and one that is not.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createTcpServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createSecureContext, createServer, type TlsOptions } from 'node:tls'
import { type CertificatePair, makeAuthority, makeCertificate, writePair } from '../support/certificates.js'
import { freePort } from '../support/free-port.js'
import { portOf } from '../support/port.js'
import { RunningServer } from '../support/running-server.js'
import { filesOf, Workspace as ServerWorkspace } from '../support/workspace.js'
import { lasting, Workspace } from './workspace.js'

function site(hosts: readonly string[], ...pairs: readonly string[]): object {
  const certificate = pairs.map((pair) => ({ cert: `../certs/${pair}.pem`, key: `../certs/${pair}.key` }))
  return { hosts, certificate, respond: {} }
}

function configure(workspace: Workspace, vhosts: readonly object[], more: object = {}): void {
  const listeners = [{ name: 'public', bind: ':443' }]
  workspace.write('config/hostward.yaml', JSON.stringify({ listeners, vhosts, ...more }))
}

interface Served {
  readonly name: string | null
  readonly verdict: string
  readonly level: string | null
  readonly failure: string | null
}

/** `name verdict level` for each name that was asked for, and the exit code. */
async function served(workspace: Workspace, address: string): Promise<{ code: number | null; lines: string[] }> {
  const { code, stdout } = await workspace.run('certs', '--json', '--served', address)
  const list: { served: Served[] }[] = JSON.parse(stdout)
  const lines = list.flatMap((each) => each.served).map(({ name, verdict, level }) => `${name} ${verdict} ${level}`)
  return { code, lines: lines.sort() }
}

/** Another TLS server, with one pair for everybody. */
async function foreignServer(context: TestContext, options: TlsOptions): Promise<string> {
  const server = createServer(options)
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  return `127.0.0.1:${portOf(server)}`
}

test('a running Hostward serves what is on disk, for wildcards, both key types and the fallback', async (context) => {
  const files = new ServerWorkspace()
  const issuer = await makeAuthority({ commonName: 'CA', issuer: await makeAuthority() })
  const made = (name: string, names: string[], keyType: 'ec' | 'rsa' = 'ec'): ReturnType<ServerWorkspace['pair']> =>
    files.pair(name, { names, keyType, issuer })
  const names = ['a.example', '*.a.example']
  const [ec, rsa] = [await made('ec', names), await made('rsa', names, 'rsa')]
  const [other, fallback] = [await made('other', ['192.0.2.1', 'other.example']), await made('fallback', ['f.example'])]
  const vhosts = [
    { hosts: names, certificate: [filesOf(ec), filesOf(rsa)], respond: {} },
    { hosts: ['other.example', '192.0.2.1'], certificate: filesOf(other), respond: {} },
  ]
  const running = await RunningServer.startFor(context, { vhosts, fallbackCertificate: filesOf(fallback) }, files)
  const workspace = new Workspace(context)
  const address = `127.0.0.1:${running.port()}`
  const { stdout } = await workspace.run('certs', '-c', files.path('main.yaml'), '--json', '--served', address)
  const list: { keyType: string; served: Served[] }[] = JSON.parse(stdout)
  const lines = list.flatMap(({ keyType, served: names }) =>
    names.map(({ name, verdict, failure }) => `${keyType} ${name} ${verdict} ${failure}`),
  )
  assert.deepEqual(lines.sort(), [
    'ec *.a.example same null',
    'ec a.example same null',
    'ec null same null',
    'ec other.example same null',
    'rsa *.a.example same null',
    'rsa a.example same null',
  ])
  assert.deepEqual(running.log.lines({ event: 'handshake_failed' }), [])
})

test('any other server is compared too: same, older, another one, and the level of what it serves', async (context) => {
  const workspace = new Workspace(context)
  const issuer = await makeAuthority({ commonName: 'CA', issuer: await makeAuthority() })
  const make = (name: string, days: number): Promise<CertificatePair> =>
    makeCertificate({ names: [`${name}.example`], issuer, ...lasting(days) })
  const pairs: Record<string, { disk: CertificatePair; served: CertificatePair }> = {}
  for (const [name, onDisk, inService] of [
    ['older', 60, 3],
    ['newer', 60, 80],
  ] as const) {
    pairs[name] = { disk: await make(name, onDisk), served: await make(name, inService) }
  }
  const same = await make('same', 60)
  pairs['same'] = { disk: same, served: same }
  await workspace.certificate('first', { names: ['x.example'] })
  for (const [name, { disk }] of Object.entries(pairs)) writePair(`${workspace.directory}/certs`, name, disk)
  configure(
    workspace,
    Object.keys(pairs).map((name) => site([`${name}.example`], name)),
  )
  const address = await foreignServer(context, {
    SNICallback: (name, done) => {
      const pair = pairs[name.replace('.example', '')]?.served
      done(null, pair && createSecureContext({ cert: pair.chain, key: pair.key }))
    },
  })
  assert.deepEqual(await served(workspace, address), {
    code: 1,
    lines: ['newer.example other ok', 'older.example older critical', 'same.example same ok'],
  })
  configure(workspace, [site(['same.example'], 'same')])
  assert.deepEqual(await served(workspace, address), { code: 0, lines: ['same.example same ok'] })
  const transcript = await workspace.transcript('certs', '--served', address)
  assert.match(transcript, new RegExp(`\\n\\nserved by ${address}\\nname +fingerprint +not after +level +compared\\n`))
  assert.match(transcript, /\nsame\.example {2}([0-9A-F]{2}:){5}[0-9A-F]{2} {2}[-\d]{10} {2}ok +as on disk\nexit 0\n$/)
})

test('a pair that cannot be used on disk is shown with what is served in its place', async (context) => {
  const workspace = new Workspace(context)
  await workspace.certificate('good', { names: ['good.example'], ...lasting(60) })
  const pair = await makeCertificate({ names: ['good.example'] })
  workspace.write('certs/good.pem', '')
  configure(workspace, [site(['good.example'], 'good')])
  const address = await foreignServer(context, { cert: pair.chain, key: pair.key })
  assert.deepEqual(await served(workspace, address), { code: 1, lines: ['good.example unknown ok'] })
})

test('no handshake is told with its reason: nobody there, an alert, something that is not TLS', async (context) => {
  const workspace = new Workspace(context)
  await workspace.certificate('good', { names: ['good.example'], ...lasting(60) })
  configure(workspace, [site(['good.example'], 'good')])
  const refusing = await foreignServer(context, {})
  const mute = createTcpServer((socket) => void socket.end('SSH-2.0-none\r\n')).listen(0, '127.0.0.1')
  context.after(() => mute.close())
  await once(mute, 'listening')
  for (const [address, reason] of [
    [`127.0.0.1:${await freePort()}`, /no handshake: econnrefused\n/],
    [refusing, /no handshake: .*handshake failure\n/],
    [`127.0.0.1:${portOf(mute)}`, /no handshake: .*wrong version number\n/],
  ] as const) {
    assert.match(await workspace.transcript('certs', '--served', address), reason)
  }
})

test('an address that names no server is a usage error', async (context) => {
  const workspace = new Workspace(context)
  for (const address of ['', ':443', 'example.com', 'example.com:0', 'not a host:1']) {
    const { code, stderr } = await workspace.run('certs', '--served', address)
    assert.equal(code, 2, address)
    assert.match(stderr, /--served .*\n {2}hint: /)
  }
})
