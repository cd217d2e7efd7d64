// A pair is renewed in steps; no handshake may meet anything but the whole old or the whole new one, whatever the tool.
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { type CertificatePair, makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'
import { quickSettings, RunningServer } from '../support/running-server.js'
import { filesOf, Workspace } from '../support/workspace.js'
import { type Failure, fingerprintOf, Handshakes } from './handshakes.js'
import { Stage } from './renewal-stage.js'
import { renewalTools } from './renewal-tools.js'

const renewals = 3

// All tools renew at the same time, each its own pair; what is wrong with one is told by the test of its name.
let stage: Stage
before(async () => {
  stage = await Stage.start()
  for (let turn = 1; turn <= renewals; turn++) await stage.renew(turn)
  await stage.handshakes.stop()
})
after(() => stage.close())

for (const [index, { name }] of renewalTools.entries()) {
  test(`under handshakes, a pair that two sites share is renewed three times by ${name}`, () => {
    const { certificate, serving, names } = stage.outcomeOf(index)
    const isOurs = ({ servername }: Failure): boolean => names.includes(servername)
    assert.deepEqual(stage.handshakes.failures.filter(isOurs), [])
    const loaded = stage.log.lines({ event: 'certificate_loaded', certificate })
    const fingerprints = new Set(loaded.map((line) => line['fingerprint256']))
    assert.equal(fingerprints.size, 1 + renewals, 'nothing but whole pairs')
    assert.ok(fingerprints.has(fingerprintOf(serving)))
  })
}

test('renewals leave the neighbour, the open connections and the peace of the operator alone', async () => {
  assert.deepEqual(stage.handshakes.failures, [])
  for (const event of ['handshake_failed', 'site_degraded', 'certificate_not_in_service']) {
    assert.deepEqual(stage.log.lines({ event }), [])
  }
  assert.equal((await stage.open.ask('neighbour.example')).status, 200)
})

const callers = {
  rsa: { servername: 'site.example', sigalgs: 'rsa_pss_rsae_sha256' },
  ec: { servername: 'site.example', sigalgs: 'ecdsa_secp256r1_sha256' },
} as const

test('under handshakes, the RSA and EC pairs of one site are renewed one after another, half by half', async (t) => {
  const { running, workspace, issuer, handshakes } = await startWithTwoPairs(t)
  for (let turn = 1; turn <= renewals; turn++) {
    for (const keyType of ['rsa', 'ec'] as const) {
      const pair = await makeCertificate({ names: ['site.example'], issuer, keyType })
      handshakes.allowAlso(callers[keyType], pair)
      await running.log.after(() => workspace.write(`${keyType}.key`, pair.key), { event: 'certificate_pending' })
      await handshakes.round()
      const whole = { event: 'certificate_loaded', certificate: workspace.path(`${keyType}.pem`) }
      await running.log.after(() => workspace.write(`${keyType}.pem`, pair.chain), whole)
      handshakes.allowOnly(callers[keyType], pair)
      await handshakes.round()
    }
  }
  await handshakes.stop()
  assert.deepEqual(handshakes.failures, [])
  assert.deepEqual(running.log.lines({ event: 'site_degraded' }), [])
})

test('a key that is replaced by mistake is told of with both its sites once the grace is over, and never serves', async (t) => {
  const reload = { ...quickSettings.reload, renewalGraceMs: 200 }
  const workspace = new Workspace()
  const names = ['one.example', 'two.example']
  const shared = filesOf(await workspace.pair('shared', { names: names }))
  const vhosts = names.map((host) => ({ hosts: [host], certificate: shared, respond: {} }))
  const running = await RunningServer.startFor(t, { reload, vhosts }, workspace)
  const before = (await running.connect('one.example')).fingerprint256
  workspace.write('shared.key', (await makeCertificate()).key)
  for (const vhost of names) {
    const { serves, errors } = await running.log.line({ event: 'site_degraded', vhost })
    assert.equal(serves, 'last_good')
    assert.match(JSON.stringify(errors), /the key has changed, the certificate has not/)
    assert.equal((await running.connect(vhost)).fingerprint256, before)
  }
  const { level, code } = await running.log.line({ event: 'certificate_pending' })
  assert.deepEqual([level, code], ['info', 'key_mismatch'])
  const mended = await workspace.pair('shared', { names: names })
  for (const vhost of names) {
    await running.log.line({ event: 'site_restored', vhost })
    assert.equal((await running.connect(vhost)).fingerprint256, mended.fingerprint256)
  }
})

interface TwoPairs {
  readonly running: RunningServer
  readonly workspace: Workspace
  readonly issuer: TestAuthority
  readonly handshakes: Handshakes
}

/** A site with an RSA pair and an EC pair, and a client of each kind. */
async function startWithTwoPairs(test: TestContext): Promise<TwoPairs> {
  const workspace = new Workspace()
  const issuer = await makeAuthority()
  const pairs = {
    rsa: await issued({ workspace, issuer, keyType: 'rsa' }),
    ec: await issued({ workspace, issuer, keyType: 'ec' }),
  }
  const certificate = Object.keys(pairs).map((name) => ({ cert: `${name}.pem`, key: `${name}.key` }))
  const vhosts = [{ hosts: ['site.example'], certificate, respond: {} }]
  const running = await RunningServer.startFor(test, { vhosts }, workspace)
  const handshakes = new Handshakes({ port: running.port(), root: issuer.root })
  test.after(() => handshakes.stop())
  handshakes.add(callers.rsa, pairs.rsa)
  handshakes.add(callers.ec, pairs.ec)
  return { running, workspace, issuer, handshakes }
}

interface Issuing {
  readonly workspace: Workspace
  readonly issuer: TestAuthority
  readonly keyType: 'rsa' | 'ec'
}

async function issued({ workspace, issuer, keyType }: Issuing): Promise<CertificatePair> {
  const pair = await makeCertificate({ names: ['site.example'], issuer, keyType })
  workspace.write(`${keyType}.key`, pair.key)
  workspace.write(`${keyType}.pem`, pair.chain)
  return pair
}
