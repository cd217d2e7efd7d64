// A pair is renewed in steps; no handshake may meet anything but the whole old or the whole new one, whatever the tool.
import assert from 'node:assert/strict'
import { renameSync, symlinkSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { type CertificatePair, makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'
import { quickSettings, RunningServer } from '../support/running-server.js'
import type { Http1Client } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'
import { type Caller, fingerprintOf, Handshakes } from './handshakes.js'
import { type RenewalTool, renewalTools } from './renewal-tools.js'

const renewals = 3
const sharing: readonly Caller[] = [{ servername: 'one.example' }, { servername: 'two.example' }]
const sharedNames = sharing.map(({ servername }) => servername)

for (const tool of renewalTools) {
  test(`under handshakes, a pair is renewed three times by ${tool.name}`, async (t) => {
    const stage = await Stage.startFor(t, tool)
    for (let turn = 1; turn <= renewals; turn++) await stage.renew(turn)
    await stage.assertNothingElseHappened()
  })
}

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
      await running.log.after(() => workspace.write(`${keyType}.pem`, pair.chain), { event: 'config_reloaded' })
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
  const shared = filesOf(await workspace.pair('shared', { names: sharedNames }))
  const vhosts = sharedNames.map((host) => ({ hosts: [host], certificate: shared, respond: {} }))
  const running = await RunningServer.startFor(t, { reload, vhosts }, workspace)
  const before = (await running.connect('one.example')).fingerprint256
  workspace.write('shared.key', (await makeCertificate()).key)
  for (const { servername: vhost } of sharing) {
    const { serves, errors } = await running.log.line({ event: 'site_degraded', vhost })
    assert.equal(serves, 'last_good')
    assert.match(JSON.stringify(errors), /the key has changed, the certificate has not/)
    assert.equal((await running.connect(vhost)).fingerprint256, before)
  }
  const { level, code } = await running.log.line({ event: 'certificate_pending' })
  assert.deepEqual([level, code], ['info', 'key_mismatch'])
  const mended = await workspace.pair('shared', { names: sharedNames })
  for (const { servername: vhost } of sharing) {
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

/** Two sites that share a renewed pair, a neighbour with its own, and clients that verify what each of them shows. */
class Stage {
  readonly #running: RunningServer
  readonly #tool: RenewalTool
  readonly #issuer: TestAuthority
  readonly #handshakes: Handshakes
  readonly #open: Http1Client
  #serving: CertificatePair
  #polls = 0

  private constructor(parts: StageParts) {
    this.#running = parts.running
    this.#tool = parts.tool
    this.#issuer = parts.issuer
    this.#handshakes = parts.handshakes
    this.#open = parts.open
    this.#serving = parts.serving
  }

  static async startFor(test: TestContext, tool: RenewalTool): Promise<Stage> {
    const workspace = new Workspace()
    const issuer = await makeAuthority({ commonName: 'issuing', issuer: await makeAuthority({ commonName: 'root' }) })
    const [serving, neighbour] = [await issue(issuer, sharedNames), await issue(issuer, ['neighbour.example'])]
    for (const step of tool.steps({ directory: workspace.directory, pair: serving, turn: 0 })) step()
    workspace.write(other.cert, neighbour.chain)
    workspace.write(other.key, neighbour.key)
    await writeWitnesses(workspace)
    const vhosts = [
      ...sharedNames.map((host) => ({ hosts: [host], certificate: { cert: tool.cert, key: tool.key }, respond: {} })),
      { hosts: ['neighbour.example'], certificate: other, respond: {} },
      { hosts: ['witness.example'], certificate: witness, respond: {} },
    ]
    const running = await RunningServer.startFor(test, { reload: often, vhosts }, workspace)
    const handshakes = new Handshakes({ port: running.port(), root: issuer.root })
    test.after(() => handshakes.stop())
    for (const caller of sharing) handshakes.add(caller, serving)
    handshakes.add({ servername: 'neighbour.example' }, neighbour)
    return new Stage({ running, tool, issuer, handshakes, serving, open: await running.connect('neighbour.example') })
  }

  /** One renewal. After each step a poll has looked at all files, while the clients come and go. */
  async renew(turn: number): Promise<void> {
    const keptKey = this.#tool.keepsKey ? this.#serving : undefined
    const pair = await issue(this.#issuer, sharedNames, keptKey)
    for (const caller of sharing) this.#handshakes.allowAlso(caller, pair)
    for (const step of this.#tool.steps({ directory: this.#running.workspace.directory, pair, turn })) {
      step()
      await this.#poll()
    }
    for (const caller of sharing) this.#handshakes.allowOnly(caller, pair)
    await this.#handshakes.round()
    this.#serving = pair
  }

  async assertNothingElseHappened(): Promise<void> {
    await this.#handshakes.stop()
    const { log, workspace } = this.#running
    assert.deepEqual(this.#handshakes.failures, [])
    const last = { event: 'certificate_loaded', fingerprint256: fingerprintOf(this.#serving) }
    await log.line(last)
    const loaded = log.lines({ event: 'certificate_loaded', certificate: workspace.path(this.#tool.cert) })
    const fingerprints = new Set(loaded.map((line) => line['fingerprint256']))
    assert.equal(fingerprints.size, 1 + renewals, 'nothing but whole pairs')
    for (const event of ['handshake_failed', 'site_degraded', 'certificate_not_in_service']) {
      assert.deepEqual(log.lines({ event }), [])
    }
    assert.equal(this.#open.isClosed, false)
  }

  // A link two directories up from a file is seen by no signal, only by a poll, which looks at everything else too. What it
  // leads to is older than the tick of a clock, so no look before the change can have read it.
  async #poll(): Promise<void> {
    this.#polls += 1
    showWitness(this.#running.workspace, this.#polls)
    const certificate = this.#running.workspace.path(witness.cert)
    await this.#running.log.line({ event: 'certificate_loaded', certificate }, 1 + this.#polls)
  }
}

interface StageParts {
  readonly running: RunningServer
  readonly tool: RenewalTool
  readonly issuer: TestAuthority
  readonly handshakes: Handshakes
  readonly open: Http1Client
  readonly serving: CertificatePair
}

const often = { debounceMs: 5, pollMs: 20 }
const other = { cert: 'other.pem', key: 'other.key' }
const witness = { cert: 'witness/current/etc/site.pem', key: 'witness/current/etc/site.key' }

async function writeWitnesses(workspace: Workspace): Promise<void> {
  for (const release of [0, 1]) await workspace.pair(`witness/${release}/etc/site`, { names: ['witness.example'] })
  showWitness(workspace, 0)
}

function showWitness(workspace: Workspace, poll: number): void {
  symlinkSync(`${poll % 2}`, workspace.path('witness/next'))
  renameSync(workspace.path('witness/next'), workspace.path('witness/current'))
}

function issue(issuer: TestAuthority, names: readonly string[], key?: CertificatePair): Promise<CertificatePair> {
  return makeCertificate({ names, issuer, key })
}
