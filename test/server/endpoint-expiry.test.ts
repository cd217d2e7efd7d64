// The certificates that endpoints show come to their end too: told with the sites that would go with them, and again when renewed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import { type TestContext, test } from 'node:test'
import { type CertificateOptions, makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'
import { portOf } from '../support/port.js'
import { RunningServer } from '../support/running-server.js'
import { filesOf, Workspace } from '../support/workspace.js'

const dayMs = 86_400_000

interface Stage {
  readonly running: RunningServer
  readonly url: string
  /** The endpoint shows another certificate from now on. */
  renew(options: CertificateOptions): Promise<void>
}

const verified = { serverName: 'inside.example', ca: 'ca.pem' }

async function start(t: TestContext, options: CertificateOptions, tls: object = verified): Promise<Stage> {
  const issuer = await makeAuthority()
  const server = createServer(await secretsOf(issuer, options), (_, response) => response.end('ok'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const workspace = new Workspace()
  workspace.write('ca.pem', issuer.cert)
  const pair = await workspace.pair('site', { names: ['a.example', 'b.example'] })
  const url = `https://127.0.0.1:${portOf(server)}`
  const main = {
    upstreams: { app: { endpoints: [url], tls } },
    vhosts: ['a.example', 'b.example'].map((host) => ({ hosts: [host], certificate: filesOf(pair), upstream: 'app' })),
  }
  const running = await RunningServer.startFor(t, main, workspace)
  const renew = async (renewed: CertificateOptions): Promise<void> => {
    server.setSecureContext(await secretsOf(issuer, renewed))
    server.closeAllConnections()
  }
  return { running, url, renew }
}

async function secretsOf(issuer: TestAuthority, options: CertificateOptions): Promise<{ cert: string; key: string }> {
  const { chain, key } = await makeCertificate({ names: ['inside.example'], issuer, ...options })
  return { cert: chain, key }
}

function lifetime(startsInDays: number, endsInDays: number): CertificateOptions {
  const at = (days: number): Date => new Date(Date.now() + days * dayMs)
  return { notBefore: at(startsInDays), notAfter: at(endsInDays) }
}

test('an endpoint whose certificate nears its end is told of with its sites, and again once it shows another', async (t) => {
  const { running, url, renew } = await start(t, lifetime(-84, 6))
  const client = await running.connect('a.example')
  assert.equal((await client.ask('a.example')).body, 'ok')
  const line = await running.log.line({ event: 'upstream_certificate_expiry' })
  assert.deepEqual(
    [line['level'], line['endpoint'], line['state'], line['vhosts']],
    ['error', url, 'critical', ['a.example', 'b.example']],
  )
  assert.match(String(line['msg']), /requests are answered 502/)
  await renew({})
  const recovered = await running.log.after(
    async () => {
      // A session that is resumed shows no certificate; it ends with the connections that it was for.
      for (let status = 0; status !== 200; ) ({ status } = await client.ask('a.example'))
    },
    { event: 'upstream_certificate_expiry', state: 'ok' },
  )
  assert.equal(recovered['level'], 'info')
})

test('an endpoint whose certificate has expired is 502, and the line of the request says why', async (t) => {
  const { running } = await start(t, lifetime(-91, -1))
  const client = await running.connect('a.example')
  assert.equal((await client.ask('a.example')).status, 502)
  const { reason, detail } = await running.log.line({ event: 'request' })
  assert.equal(reason, 'upstream_tls')
  assert.match(String(detail), /^127\.0\.0\.1:\d+: its certificate expired on \d{4}-.* \(CERT_HAS_EXPIRED\)$/)
  assert.equal((await running.log.line({ event: 'upstream_certificate_expiry' }))['state'], 'expired')
})

test('one that is not verified serves on, and its end is told of all the same', async (t) => {
  const { running } = await start(t, lifetime(-91, -1), { verify: false })
  const client = await running.connect('a.example')
  assert.equal((await client.ask('a.example')).body, 'ok')
  assert.equal((await running.log.line({ event: 'upstream_certificate_expiry' }))['state'], 'expired')
})
