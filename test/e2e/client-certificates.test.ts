// Who may see what, over every kind of connection: the name it was opened for, what the client showed, whether it tried to
// resume a session, the wire, the version of TLS, and the site that each request is for. One rule tells all the answers.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type CertificatePair, makeAuthority, makeCertificate } from '../support/certificates.js'
import { RunningServer } from '../support/running-server.js'
import { openTls, type Wire, wires } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'

/** What a site demands: the authorities that may have issued the certificate. */
type Demand = 'nothing' | 'a' | 'b' | 'a or b' | 'a, pinned'

interface Site {
  readonly host: string
  readonly demand: Demand
}

const sites: readonly Site[] = [
  { host: 'open.example', demand: 'nothing' },
  { host: 'a.example', demand: 'a' },
  { host: 'same.example', demand: 'a' },
  { host: 'b.example', demand: 'b' },
  { host: 'both.example', demand: 'a or b' },
  { host: 'pinned.example', demand: 'a, pinned' },
  { host: '*.wild.example', demand: 'a' },
]

/** Names to open connections for, and whose demand is asked for then. */
const serverNames: readonly { readonly name: string | undefined; readonly demand: Demand }[] = [
  { name: 'open.example', demand: 'nothing' },
  { name: 'a.example', demand: 'a' },
  { name: 'A.Example', demand: 'a' },
  { name: 'same.example.', demand: 'a' },
  { name: 'b.example', demand: 'b' },
  { name: 'both.example', demand: 'a or b' },
  { name: 'pinned.example', demand: 'a, pinned' },
  { name: 'any.Wild.example', demand: 'a' },
  { name: 'not.any.wild.example', demand: 'nothing' },
  { name: 'nobody.example', demand: 'nothing' },
  { name: undefined, demand: 'nothing' },
]

/** Hosts to ask for, in every spelling, and whose demand must be met then. */
const hosts: readonly Site[] = [
  { host: 'open.example', demand: 'nothing' },
  { host: 'A.example.', demand: 'a' },
  { host: 'same.example:8443', demand: 'a' },
  { host: 'B.EXAMPLE', demand: 'b' },
  { host: 'both.example', demand: 'a or b' },
  { host: 'pinned.example', demand: 'a, pinned' },
  { host: 'Other.WILD.example', demand: 'a' },
]

type ClientName = 'nobody' | 'a' | 'pinned' | 'b' | 'stranger'

const clientNames: readonly ClientName[] = ['nobody', 'a', 'pinned', 'b', 'stranger']

const satisfies: Record<ClientName, readonly Demand[]> = {
  nobody: ['nothing'],
  a: ['nothing', 'a', 'a or b'],
  pinned: ['nothing', 'a', 'a or b', 'a, pinned'],
  b: ['nothing', 'b', 'a or b'],
  stranger: ['nothing'],
}

/** The rule of the issue, in one place. */
function expected(asked: Demand, demand: Demand, client: ClientName): number {
  if (demand === 'nothing') return 200
  if (asked !== 'nothing' && satisfies[client].includes(demand)) return 200
  return asked === demand ? 403 : 421
}

const workspace = new Workspace()
const clients = new Map<ClientName, CertificatePair>()
let running: RunningServer
let upstream: ReturnType<typeof createServer>

before(async () => {
  upstream = createServer((request, response) => response.end(request.headers.host))
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  const roots = { a: await makeAuthority({ commonName: 'root a' }), b: await makeAuthority({ commonName: 'root b' }) }
  const below = await makeAuthority({ commonName: 'intermediate a', issuer: roots.a })
  clients.set('a', await makeCertificate({ commonName: 'client a', issuer: below }))
  clients.set('pinned', await makeCertificate({ commonName: 'pinned', issuer: below, names: ['pinned.client'] }))
  clients.set('b', await makeCertificate({ commonName: 'client b', issuer: roots.b }))
  clients.set('stranger', await makeCertificate({ commonName: 'client a', issuer: await makeAuthority() }))
  workspace.write('a.pem', roots.a.cert)
  workspace.write('again.pem', `# the same once more\n${roots.a.cert}`)
  workspace.write('b.pem', roots.b.cert)
  workspace.write('both.pem', roots.b.cert + roots.a.cert)
  const demands: Record<Demand, object | undefined> = {
    nothing: undefined,
    a: { ca: 'a.pem' },
    b: { ca: 'b.pem' },
    'a or b': { ca: 'both.pem' },
    'a, pinned': { ca: 'a.pem', allow: { sans: ['Pinned.client', 'other.client'] } },
  }
  // One certificate for all: nothing but the demands tells the sites apart.
  const shared = await workspace.pair('shared', { names: sites.map(({ host }) => host), keyType: 'ec' })
  const vhosts = sites.map(({ host, demand }) => {
    const own = host === 'same.example' ? { ca: 'again.pem' } : demands[demand]
    const upstream = `http://127.0.0.1:${port}`
    return {
      hosts: [host],
      certificate: filesOf(shared),
      upstream,
      ...(own === undefined ? {} : { clientCertificate: own }),
    }
  })
  running = await RunningServer.start({ vhosts, fallbackCertificate: filesOf(shared) }, workspace)
})

after(async () => {
  await running.close()
  upstream.close()
})

for (const wire of wires) {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    describe(`${wire.name} over ${version}`, () => {
      for (const { name, demand } of serverNames) {
        test(`a connection for ${name ?? 'no name'} carries what it has proved, and no more`, async () => {
          for (const client of clientNames) {
            const asked = await askAll(wire, { version, name, client })
            assert.deepEqual(asked, answersOf(demand, client), `shown: ${client}`)
          }
        })
      }

      test('a session of a good client brings nothing to a client that shows nothing, whatever name it asks for', async () => {
        for (const from of ['a.example', 'pinned.example', 'open.example', 'both.example']) {
          const session = await sessionOf({ version, name: from, client: 'pinned' })
          for (const { name, demand } of serverNames) {
            const asked = await askAll(wire, { version, name, client: 'nobody', session })
            assert.deepEqual(asked, answersOf(demand, 'nobody'), `from ${from} to ${name}`)
          }
        }
      })
    })
  }
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`${version}: sessions are resumed where nobody is asked for a certificate, and nowhere else`, async () => {
    const at = (name: string, client: ClientName) => ({ version, name, client })
    const session = await sessionOf(at('open.example', 'nobody'))
    assert.equal(await isResumed({ ...at('open.example', 'nobody'), session }), true)
    assert.equal(await isResumed({ ...at('a.example', 'a'), session }), false)
    for (const { name, demand } of serverNames) {
      if (name === undefined || demand === 'nothing') continue
      const made = await sessionOf(at(name, 'pinned'))
      for (const later of [name, 'open.example', 'nobody.example']) {
        assert.equal(await isResumed({ ...at(later, 'pinned'), session: made }), false, `${name} at ${later}`)
      }
    }
  })
}

function answersOf(asked: Demand, client: ClientName): Record<string, number> {
  return Object.fromEntries(hosts.map(({ host, demand }) => [host, expected(asked, demand, client)]))
}

interface Attempt {
  readonly version: 'TLSv1.2' | 'TLSv1.3'
  readonly name: string | undefined
  readonly client: ClientName
  readonly session?: Buffer | undefined
}

function tlsOf({ version, client, session }: Attempt): object {
  const pair = clients.get(client)
  const shown = pair === undefined ? {} : { cert: pair.chain, key: pair.key }
  return { minVersion: version, maxVersion: version, ...shown, ...(session === undefined ? {} : { session }) }
}

async function askAll(wire: Wire, attempt: Attempt): Promise<Record<string, number>> {
  const connection = await wire.connect({ port: running.port(), servername: attempt.name, tls: tlsOf(attempt) })
  const answers: Record<string, number> = {}
  for (const { host } of hosts) answers[host] = (await connection.ask(host)).status
  connection.close()
  return answers
}

/** What the server gives for later, if it gives anything. */
async function sessionOf(attempt: Attempt): Promise<Buffer | undefined> {
  const target = { port: running.port(), servername: attempt.name, tls: tlsOf(attempt) }
  const socket = await openTls(target, 'http/1.1')
  let session: Buffer | undefined = socket.getSession()
  socket.on('session', (ticket: Buffer) => {
    session = ticket
  })
  socket.write('GET / HTTP/1.1\r\nHost: open.example\r\nConnection: close\r\n\r\n')
  socket.resume()
  await once(socket, 'close')
  return session
}

async function isResumed(attempt: Attempt): Promise<boolean> {
  const target = { port: running.port(), servername: attempt.name, tls: tlsOf(attempt) }
  const socket = await openTls(target, 'http/1.1')
  const isReused = socket.isSessionReused()
  socket.destroy()
  return isReused
}
