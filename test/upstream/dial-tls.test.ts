// TLS to endpoints: whose certificate is accepted, what is said when it is not, and that nothing is let through.
import assert from 'node:assert/strict'
import { constants } from 'node:crypto'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createSecureContext, type TLSSocket, type TlsOptions } from 'node:tls'
import { type CertificateOptions, makeAuthority, makeCertificate } from '../support/certificates.js'
import { until } from '../support/deadline.js'
import {
  contextOf,
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

const authority = await makeAuthority({ commonName: 'test root' })
const dayMs = 86_400_000

function signed(names: readonly string[]): CertificateOptions {
  return { names, issuer: authority }
}

async function serverWith(
  context: TestContext,
  certificate: CertificateOptions,
  options: TlsOptions = {},
): Promise<TestServer<TLSSocket>> {
  const pair = await makeCertificate(certificate)
  return tlsServer(context, { cert: pair.chain, key: pair.key, ...options }, (socket) => {
    socket.on('data', (chunk) => socket.write(chunk))
  })
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  const versions = { minVersion: version, maxVersion: version }

  test(`a certificate that names the endpoint is accepted over ${version}, and bytes pass both ways`, async (context) => {
    const server = await serverWith(context, signed(['shop.test']), versions)
    const tls = trusting(authority.cert)
    const transport = await established(
      context,
      targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }),
    )
    const read = reading(transport)
    transport.socket.write('hello')
    await until('the echo comes', () => read.text === 'hello')
    assert.equal(transport.protocol, 'http1')
    assert.equal(transport.address, '127.0.0.1')
  })

  test(`an expired certificate is told with its date over ${version}`, async (context) => {
    const notAfter = new Date(Math.floor(Date.now() / 1000) * 1000 - dayMs)
    const options = { ...signed(['shop.test']), notBefore: new Date(Date.now() - 9 * dayMs), notAfter }
    const server = await serverWith(context, options, versions)
    const failure = await failing(
      targetOf(context, { address: tlsAddress(server.port), tls: trusting(authority.cert), serverName: 'shop.test' }),
    )
    assert.equal(failure.code, 'upstream_tls')
    assert.equal(failure.status, 502)
    assert.equal(failure.retry, 'always')
    assert.equal(
      failure.detail,
      `127.0.0.1:${server.port}: its certificate expired on ${notAfter.toISOString()} (CERT_HAS_EXPIRED)`,
    )
    await until('the connection closes', () => server.sockets.every(({ destroyed }) => destroyed))
  })
}

interface Refusal {
  readonly story: string
  readonly certificate: CertificateOptions
  readonly isSelfSigned?: boolean
  readonly serverName?: string
  readonly detail: RegExp
}

const refusals: readonly Refusal[] = [
  {
    story: 'a self-signed certificate',
    certificate: { names: ['shop.test'], commonName: 'shop' },
    isSelfSigned: true,
    detail:
      /its certificate, issued by CN=shop, is self-signed and not among the trusted ones \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
  },
  {
    story: 'a certificate of an authority that is not trusted',
    certificate: { names: ['shop.test'], issuer: await makeAuthority({ commonName: 'somebody else' }) },
    detail: /issued by CN=somebody else, is issued by none of the trusted authorities/,
  },
  {
    story: 'a certificate for other names',
    certificate: { names: ['blog.test', '*.blog.test'] },
    detail: /its certificate is not for shop\.test: it names blog\.test, \*\.blog\.test/,
  },
  {
    story: 'a certificate with the name as its common name alone',
    certificate: { commonName: 'shop.test' },
    detail: /is not for shop\.test: it names nobody \(the common name does not count\)/,
  },
  {
    story: 'a certificate that is not valid yet',
    certificate: { names: ['shop.test'], notBefore: new Date(Date.now() + dayMs) },
    detail: /is not valid before .*CERT_NOT_YET_VALID\); is the clock right\?/,
  },
  {
    story: 'a wildcard for a name of two labels more',
    certificate: { names: ['*.shop.test'] },
    serverName: 'a.b.shop.test',
    detail: /is not for a\.b\.shop\.test/,
  },
  {
    story: 'a wildcard right below a top-level domain',
    certificate: { names: ['*.test'] },
    detail: /is not for shop\.test/,
  },
  {
    story: 'a certificate for another address',
    certificate: { names: ['127.0.0.2', 'shop.test'] },
    serverName: '127.0.0.1',
    detail: /is not for 127\.0\.0\.1: it names 127\.0\.0\.2, shop\.test/,
  },
]

for (const { story, certificate, isSelfSigned = false, serverName = 'shop.test', detail } of refusals) {
  test(`${story} is refused, and says why`, async (context) => {
    const server = await serverWith(context, isSelfSigned ? certificate : { issuer: authority, ...certificate })
    const tls = trusting(authority.cert)
    const failure = await failing(targetOf(context, { address: tlsAddress(server.port), tls, serverName }))
    assert.equal(failure.code, 'upstream_tls')
    assert.match(failure.detail, detail)
  })

  test(`${story} is accepted where verification is switched off`, async (context) => {
    const server = await serverWith(context, isSelfSigned ? certificate : { issuer: authority, ...certificate })
    const tls = trusting(authority.cert, { verify: false })
    await established(context, targetOf(context, { address: tlsAddress(server.port), tls, serverName }))
  })
}

test('an endpoint without a private authority is verified against the public roots', async (context) => {
  const server = await serverWith(context, signed(['shop.test']))
  const tls = contextOf({})
  const failure = await failing(targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }))
  assert.match(failure.detail, /issued by CN=test root, is issued by none of the trusted authorities/)
})

test('an address is verified by the addresses of the certificate, and no server name is sent', async (context) => {
  const server = await serverWith(context, signed(['127.0.0.1']))
  await established(context, targetOf(context, { address: tlsAddress(server.port), tls: trusting(authority.cert) }))
  await until('the handshake is complete', () => server.sockets.length === 1)
  assert.equal(server.sockets[0]?.servername, false)
})

test("the endpoint's own name is sent as SNI and verified, wherever its address leads", async (context) => {
  const server = await serverWith(context, signed(['shop.test']))
  const target = targetOf(context, {
    address: tlsAddress(server.port, 'shop.test'),
    tls: trusting(authority.cert),
    lookUp: async () => ['127.0.0.1'],
  })
  await established(context, target)
  await until('the handshake is complete', () => server.sockets.length === 1)
  assert.equal(server.sockets[0]?.servername, 'shop.test')
})

test('a wildcard stands for one label', async (context) => {
  const server = await serverWith(context, signed(['*.shop.test']))
  const address = tlsAddress(server.port)
  await established(context, targetOf(context, { address, tls: trusting(authority.cert), serverName: 'a.shop.test' }))
})

test('a self-signed certificate is accepted where it is the trusted one', async (context) => {
  const pair = await makeCertificate({ names: ['shop.test'] })
  const server = await tlsServer(context, { cert: pair.cert, key: pair.key })
  const address = tlsAddress(server.port)
  await established(context, targetOf(context, { address, tls: trusting(pair.cert), serverName: 'shop.test' }))
})

test('an intermediate that is not sent is told as what may be missing', async (context) => {
  const intermediate = await makeAuthority({ issuer: authority, commonName: 'between' })
  const pair = await makeCertificate({ names: ['shop.test'], issuer: intermediate })
  const server = await tlsServer(context, { cert: pair.cert, key: pair.key })
  const tls = trusting(authority.cert)
  const failure = await failing(targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }))
  assert.match(failure.detail, /issued by CN=between, .* or an intermediate is not sent/)
})

test('a second certificate of the bundle is as good as the first', async (context) => {
  const other = await makeAuthority({ commonName: 'other' })
  const server = await serverWith(context, signed(['shop.test']))
  const tls = trusting(other.cert + authority.cert)
  await established(context, targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }))
})

test('a version below minVersion is refused', async (context) => {
  const server = await serverWith(context, signed(['shop.test']), { maxVersion: 'TLSv1.2' })
  const tls = trusting(authority.cert, { minVersion: 'TLSv1.3' })
  const failure = await failing(targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }))
  assert.equal(failure.code, 'upstream_tls')
  assert.match(failure.detail, /it speaks no version of TLS from minVersion on/)
})

test('a client certificate is shown where the endpoint demands one', async (context) => {
  const pair = await makeCertificate({ commonName: 'hostward', issuer: authority })
  const demands = { requestCert: true, rejectUnauthorized: true, ca: authority.cert }
  const server = await serverWith(context, signed(['shop.test']), demands)
  const client = { cert: { path: 'client.pem', text: pair.cert }, key: { path: 'client.key', text: pair.key } }
  const tls = trusting(authority.cert, { client })
  await established(context, targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }))
  await until('the handshake is complete', () => server.sockets.length === 1)
  assert.equal(server.sockets[0]?.getPeerCertificate().subject.CN, 'hostward')
})

test('a client certificate that is missing ends a TLS 1.2 handshake with the reason', async (context) => {
  const demands = { requestCert: true, rejectUnauthorized: true, ca: authority.cert, maxVersion: 'TLSv1.2' } as const
  const server = await serverWith(context, signed(['shop.test']), demands)
  const tls = trusting(authority.cert)
  const failure = await failing(targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }))
  assert.equal(failure.code, 'upstream_tls')
  assert.match(failure.detail, /it refused the handshake; does it want a client certificate\?/)
})

test('what does not speak TLS is told so', async (context) => {
  const server = await plainServer(context, (socket) =>
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  )
  const tls = trusting(authority.cert)
  const failure = await failing(targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }))
  assert.equal(failure.code, 'upstream_tls')
  assert.match(failure.detail, /it does not speak TLS/)
})

test('a server that closes in the handshake is told so', async (context) => {
  for (const end of ['end', 'resetAndDestroy'] as const) {
    const server = await plainServer(context, (socket) => socket.once('data', () => socket[end]()))
    const tls = trusting(authority.cert)
    const failure = await failing(targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' }))
    assert.equal(failure.code, 'upstream_tls')
    assert.equal(failure.detail, `127.0.0.1:${server.port}: it closed during the TLS handshake`)
    assert.equal(failure.retry, 'always')
  }
})

test('a handshake that stalls is ended by the deadline, and its connection is closed', async (context) => {
  const server = await plainServer(context, (socket) => socket.resume())
  const tls = trusting(authority.cert)
  const target = targetOf(context, { address: tlsAddress(server.port), tls, serverName: 'shop.test' })
  const failure = await failing(target, { connectMs: 50 })
  assert.equal(failure.code, 'upstream_timeout')
  assert.match(failure.detail, /^in the TLS handshake with 127\.0\.0\.1:\d+ for \d+ ms$/)
  await until('the connection closes', () => server.sockets.every(({ destroyed }) => destroyed))
})

test('a connection whose TLS breaks later is closed: the runtime alone would leave it open and silent', async (context) => {
  const server = await serverWith(context, signed(['shop.test']))
  const front = await plainServer(context, (socket) => {
    const inner = connect(server.port, '127.0.0.1')
    context.after(() => inner.destroy())
    inner.on('error', () => undefined)
    socket.pipe(inner).pipe(socket)
  })
  const address = tlsAddress(front.port)
  const tls = trusting(authority.cert)
  const { socket } = await established(context, targetOf(context, { address, tls, serverName: 'shop.test' }))
  front.sockets[0]?.write('this is no record of TLS')
  await until('the connection closes', () => socket.destroyed)
})

interface Negotiation {
  readonly wanted: 'http1' | 'h2' | 'auto'
  readonly offered: readonly string[] | undefined
  readonly spoken: 'http1' | 'h2' | RegExp
}

const negotiations: readonly Negotiation[] = [
  { wanted: 'http1', offered: ['h2', 'http/1.1'], spoken: 'http1' },
  { wanted: 'http1', offered: undefined, spoken: 'http1' },
  { wanted: 'http1', offered: ['h2'], spoken: /none of the protocols that were offered/ },
  { wanted: 'h2', offered: ['http/1.1', 'h2'], spoken: 'h2' },
  { wanted: 'h2', offered: ['http/1.1'], spoken: /none of the protocols that were offered/ },
  { wanted: 'h2', offered: undefined, spoken: /it did not choose h2 \(ALPN\)/ },
  { wanted: 'auto', offered: ['h2', 'http/1.1'], spoken: 'h2' },
  { wanted: 'auto', offered: ['http/1.1'], spoken: 'http1' },
  { wanted: 'auto', offered: undefined, spoken: 'http1' },
]

for (const { wanted, offered, spoken } of negotiations) {
  const outcome = spoken instanceof RegExp ? 'is refused' : `speaks ${spoken}`
  test(`${wanted} with an endpoint that knows ${offered?.join(' and ') ?? 'no ALPN'} ${outcome}`, async (context) => {
    const alpn = offered === undefined ? {} : { ALPNProtocols: [...offered] }
    const server = await serverWith(context, signed(['shop.test']), alpn)
    const address = tlsAddress(server.port)
    const target = targetOf(context, {
      address,
      tls: trusting(authority.cert),
      serverName: 'shop.test',
      protocol: wanted,
    })
    if (spoken instanceof RegExp) {
      const failure = await failing(target)
      assert.equal(failure.code, 'upstream_tls')
      assert.match(failure.detail, spoken)
    } else {
      assert.equal((await established(context, target)).protocol, spoken)
    }
  })
}

test('the certificate of an endpoint is reported once, accepted or not, and again when it changes', async (context) => {
  const intermediate = await makeAuthority({ issuer: authority, commonName: 'between' })
  const first = await makeCertificate({ names: ['shop.test'], issuer: intermediate })
  const second = await makeCertificate({ names: ['blog.test'], issuer: authority })
  let current = first
  const server = await tlsServer(context, {
    SNICallback: (_name, done) => done(null, createSecureContext({ cert: current.chain, key: current.key })),
    secureOptions: constants.SSL_OP_NO_TICKET,
  })
  const heard = heardTarget(context, {
    address: tlsAddress(server.port),
    tls: trusting(authority.cert),
    serverName: 'shop.test',
  })
  await established(context, heard.target)
  await established(context, heard.target)
  current = second
  await failing(heard.target)
  assert.deepEqual(
    heard.certificates.map(({ certificate, address }) => ({ names: certificate.names, address })),
    [
      { names: ['shop.test'], address: '127.0.0.1' },
      { names: ['blog.test'], address: '127.0.0.1' },
    ],
  )
  const [shown] = heard.certificates
  assert.deepEqual(
    shown?.certificate.chain.map(({ subject }) => subject),
    ['CN=between'],
  )
  assert.ok((shown?.certificate.notAfterMs ?? 0) > Date.now())
  assert.match(shown?.certificate.fingerprint256 ?? '', /^[0-9A-F]{2}(:[0-9A-F]{2}){31}$/)
})
