// TLS sessions: resumed within one endpoint only, and worth no more than the handshake that made them. A runtime that
// resumes a session skips the check of names (CVE-2026-48934), so a session elsewhere would open every door.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import type { EstablishedTransport } from '../../src/upstream/transport.js'
import type { DialTarget } from '../../src/upstream/transport-target.js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'
import { until } from '../support/deadline.js'
import {
  established,
  failing,
  heardTarget,
  plainServer,
  reading,
  type TestServer,
  targetOf,
  tlsAddress,
  tlsServer,
  trusting,
} from './dial-rig.js'

const authority = await makeAuthority()
const pair = await makeCertificate({ names: ['shop.test'], issuer: authority })
const versions = ['TLSv1.2', 'TLSv1.3'] as const

function echoing(context: TestContext, maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<TestServer<TLSSocket>> {
  return tlsServer(context, { cert: pair.chain, key: pair.key, maxVersion }, (socket) => {
    socket.on('data', (chunk) => socket.write(chunk))
  })
}

/** Connects and reads something, for what TLS 1.3 sends behind the handshake stands before it. */
async function visited(context: TestContext, target: DialTarget): Promise<EstablishedTransport> {
  const transport = await established(context, target)
  const read = reading(transport)
  transport.socket.write('hello')
  await until('the echo comes', () => read.text === 'hello')
  return transport
}

for (const version of versions) {
  test(`a second connection to an endpoint resumes the session over ${version}, and reports nothing new`, async (context) => {
    const server = await echoing(context, version)
    const heard = heardTarget(context, {
      address: tlsAddress(server.port),
      tls: trusting(authority.cert),
      serverName: 'shop.test',
    })
    for (let turn = 0; turn < 3; turn++) await visited(context, heard.target)
    assert.deepEqual(
      server.sockets.map((socket) => socket.isSessionReused()),
      [false, true, true],
    )
    assert.equal(heard.certificates.length, 1)
  })

  test(`a session does not pass for another name over ${version}, although the settings are shared`, async (context) => {
    const server = await echoing(context, version)
    const tls = trusting(authority.cert)
    const address = tlsAddress(server.port)
    await visited(context, targetOf(context, { address, tls, serverName: 'shop.test' }))
    const failure = await failing(targetOf(context, { address, tls, serverName: 'blog.test' }))
    assert.match(failure.detail, /its certificate is not for blog\.test: it names shop\.test/)
  })

  test(`a session that was not verified opens nothing where verification is on over ${version}`, async (context) => {
    const server = await echoing(context, version)
    const other = await makeAuthority({ commonName: 'other' })
    const address = tlsAddress(server.port)
    const careless = trusting(other.cert, { verify: false })
    await visited(context, targetOf(context, { address, tls: careless, serverName: 'shop.test' }))
    const failure = await failing(targetOf(context, { address, tls: trusting(other.cert), serverName: 'shop.test' }))
    assert.equal(failure.code, 'upstream_tls')
  })
}

test('a handshake that fails takes the session with it, and the next one is a full one', async (context) => {
  const server = await echoing(context, 'TLSv1.3')
  let isBroken = false
  const front = await plainServer(context, (socket) => {
    if (isBroken) socket.once('readable', () => socket.destroy())
    else server.adopt(socket)
  })
  const target = targetOf(context, {
    address: tlsAddress(front.port),
    tls: trusting(authority.cert),
    serverName: 'shop.test',
  })
  await visited(context, target)
  isBroken = true
  await failing(target)
  isBroken = false
  await visited(context, target)
  assert.deepEqual(
    server.sockets.map((socket) => socket.isSessionReused()),
    [false, false],
  )
})

test('an endpoint cannot begin a second handshake, in which it could show another certificate', async (context) => {
  const server = await echoing(context, 'TLSv1.2')
  const address = tlsAddress(server.port)
  const target = targetOf(context, { address, tls: trusting(authority.cert), serverName: 'shop.test' })
  const transport = await visited(context, target)
  const { socket } = transport
  const [peer] = server.sockets
  const outcomes: (Error | null)[] = []
  const read = reading(transport)
  peer?.renegotiate({ rejectUnauthorized: false }, (error) => outcomes.push(error))
  peer?.write('behind it')
  await until('what stands behind the demand is read', () => read.text === 'behind it' || socket.destroyed)
  // A refusal leaves with the next bytes.
  socket.write('once more')
  await until('there is an outcome', () => outcomes.length > 0 || socket.destroyed)
  assert.deepEqual(outcomes, [])
})

test('a client certificate that is missing ends a TLS 1.3 connection with an error that says so', async (context) => {
  const demands = { requestCert: true, rejectUnauthorized: true, ca: authority.cert }
  const server = await tlsServer(context, { cert: pair.chain, key: pair.key, minVersion: 'TLSv1.3', ...demands })
  const target = targetOf(context, {
    address: tlsAddress(server.port),
    tls: trusting(authority.cert),
    serverName: 'shop.test',
  })
  // Under TLS 1.3 the endpoint judges only when our side of the handshake is complete.
  const { socket } = await established(context, target)
  let message = ''
  socket.on('error', (error) => {
    message = error.message
  })
  await until('the connection closes', () => socket.destroyed)
  assert.match(message, /certificate required/)
})
