// A renewed pair is written in two steps; no handshake may meet anything but the whole old or the whole new one.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { type CertificatePair, makeCertificate } from '../support/certificates.js'
import { RunningServer } from '../support/running-server.js'
import { connectHttp1 } from '../support/wires.js'
import { Workspace } from '../support/workspace.js'

/** A way to lay out and renew a pair, half by half; the first half is always one that does not fit alone. */
interface PairLayout {
  readonly name: string
  readonly cert: string
  readonly key: string
  /** Puts the first half in place; `turn` 0 is before the start. */
  readonly first: (workspace: Workspace, pair: CertificatePair, turn: number) => void
  readonly second: (workspace: Workspace, pair: CertificatePair, turn: number) => void
  /** Whether the halves can be seen to belong together, so that nothing is ever pending. */
  readonly isWhole: boolean
}

const layouts: readonly PairLayout[] = [
  {
    name: 'written in place, key first',
    cert: 'site.pem',
    key: 'site.key',
    first: (workspace, pair) => writeFileSync(workspace.path('site.key'), pair.key),
    second: (workspace, pair) => writeFileSync(workspace.path('site.pem'), pair.chain),
    isWhole: false,
  },
  {
    name: 'written in place, certificate first',
    cert: 'site.pem',
    key: 'site.key',
    first: (workspace, pair) => writeFileSync(workspace.path('site.pem'), pair.chain),
    second: (workspace, pair) => writeFileSync(workspace.path('site.key'), pair.key),
    isWhole: false,
  },
  {
    name: 'renamed over, key first',
    cert: 'site.pem',
    key: 'site.key',
    first: (workspace, pair) => workspace.write('site.key', pair.key),
    second: (workspace, pair) => workspace.write('site.pem', pair.chain),
    isWhole: false,
  },
  {
    name: 'behind links that are removed and made again, as certbot does',
    cert: 'live/fullchain.pem',
    key: 'live/privkey.pem',
    first: (workspace, pair, turn) => {
      workspace.write(`archive/privkey${turn}.pem`, pair.key)
      workspace.write(`archive/fullchain${turn}.pem`, pair.chain)
      relink(workspace, 'privkey', turn)
    },
    second: (workspace, _pair, turn) => relink(workspace, 'fullchain', turn),
    isWhole: true,
  },
  {
    name: 'behind a ..data link, as Kubernetes does',
    cert: 'secret/tls.crt',
    key: 'secret/tls.key',
    first: (workspace, pair, turn) => {
      workspace.write(`secret/..${turn}/tls.key`, pair.key)
      workspace.write(`secret/..${turn}/tls.crt`, pair.chain)
    },
    second: (workspace, _pair, turn) => {
      symlinkSync(`..${turn}`, workspace.path('secret/..data_tmp'))
      renameSync(workspace.path('secret/..data_tmp'), workspace.path('secret/..data'))
      if (turn > 0) return rmSync(workspace.path(`secret/..${turn - 1}`), { recursive: true })
      for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, workspace.path(`secret/${name}`))
    },
    isWhole: true,
  },
]

for (const layout of layouts) {
  test(`a pair ${layout.name} is renewed again and again under handshakes, and none of them fails`, async (t) => {
    const workspace = new Workspace()
    let serving = await makeCertificate({ names: ['site.example'] })
    layout.first(workspace, serving, 0)
    layout.second(workspace, serving, 0)
    const certificate = { cert: layout.cert, key: layout.key }
    const vhosts = [{ hosts: ['site.example'], certificate, respond: { body: 'whole' } }]
    const running = await RunningServer.startFor(t, { vhosts }, workspace)
    const shaking = new Shaking(running.port())
    await shaking.untilSeen(serving)
    const known = new Set([fingerprintOf(serving)])

    for (let turn = 1; turn <= 3; turn++) {
      const renewed = await makeCertificate({ names: ['site.example'] })
      known.add(fingerprintOf(renewed))
      await writeFirstHalf({ running, layout, renewed, turn })
      await shaking.untilSeen(serving)
      layout.second(workspace, renewed, turn)
      await shaking.untilSeen(renewed)
      serving = renewed
    }

    await shaking.stop()
    assert.deepEqual(shaking.failures, [])
    for (const fingerprint of shaking.seen) assert.ok(known.has(fingerprint), 'a certificate that was configured')
    assert.equal((await running.log.line({ event: 'certificate_loaded' }, 4))['fingerprint256'], fingerprintOf(serving))
    assert.deepEqual(running.log.lines({ event: 'handshake_failed' }), [])
    assert.deepEqual(running.log.lines({ event: 'site_degraded', serves: 'closed' }), [])
  })
}

test('RSA and EC pairs of one site are renewed one at a time', async (t) => {
  const { running, workspace, fingerprints } = await startWithTwoPairs(t)
  const rsa = await running.log.after(() => workspace.pair('rsa', { names: ['site.example'], keyType: 'rsa' }), {
    event: 'certificate_loaded',
  })
  assert.deepEqual(await fingerprintsOf(running), { rsa: rsa['fingerprint256'], ec: fingerprints.ec })
  const ec = await running.log.after(() => workspace.pair('ec', { names: ['site.example'] }), {
    event: 'certificate_loaded',
  })
  assert.deepEqual(await fingerprintsOf(running), { rsa: rsa['fingerprint256'], ec: ec['fingerprint256'] })
})

test('a connection that was open before a renewal stays open', async (t) => {
  const { running, workspace } = await startWithTwoPairs(t)
  const client = await running.connect('site.example')
  await running.log.after(() => workspace.pair('ec', { names: ['site.example'] }), { event: 'certificate_loaded' })
  assert.equal((await client.ask('site.example')).status, 200)
  assert.equal(client.isClosed, false)
})

interface FirstHalf {
  readonly running: RunningServer
  readonly layout: PairLayout
  readonly renewed: CertificatePair
  readonly turn: number
}

/** Writes the half that does not fit, and waits until it was seen where that can be told. */
async function writeFirstHalf({ running, layout, renewed, turn }: FirstHalf): Promise<void> {
  const write = (): void => layout.first(running.workspace, renewed, turn)
  if (layout.isWhole) write()
  else await running.log.after(write, { event: 'certificate_pending' })
}

function relink(workspace: Workspace, name: string, turn: number): void {
  mkdirSync(workspace.path('live'), { recursive: true })
  rmSync(workspace.path(`live/${name}.pem`), { force: true })
  symlinkSync(`../archive/${name}${turn}.pem`, workspace.path(`live/${name}.pem`))
}

function fingerprintOf({ cert }: CertificatePair): string {
  return new X509Certificate(cert).fingerprint256
}

/** Makes one handshake after the other. */
class Shaking {
  readonly seen = new Set<string>()
  readonly failures: unknown[] = []
  readonly #port: number
  readonly #waiting = new Set<{ fingerprint256: string; resolve: () => void }>()
  readonly #loop: Promise<void>
  #isStopping = false

  constructor(port: number) {
    this.#port = port
    this.#loop = this.#shake()
  }

  /** Resolves at the next handshake that shows this certificate. */
  untilSeen(pair: CertificatePair): Promise<void> {
    return new Promise((resolve) => this.#waiting.add({ fingerprint256: fingerprintOf(pair), resolve }))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop
  }

  async #shake(): Promise<void> {
    while (!this.#isStopping) {
      try {
        const client = await connectHttp1({ port: this.#port, servername: 'site.example' })
        // A client that leaves the moment it is done would be one that left within the handshake, to the server.
        assert.equal((await client.ask('site.example')).body, 'whole')
        client.close()
        this.#see(client.fingerprint256)
      } catch (error) {
        this.failures.push(error)
      }
    }
  }

  #see(fingerprint256: string): void {
    this.seen.add(fingerprint256)
    for (const waiting of this.#waiting) {
      if (waiting.fingerprint256 !== fingerprint256) continue
      this.#waiting.delete(waiting)
      waiting.resolve()
    }
  }
}

interface TwoPairs {
  readonly running: RunningServer
  readonly workspace: Workspace
  readonly fingerprints: { readonly rsa: string; readonly ec: string }
}

async function startWithTwoPairs(t: TestContext): Promise<TwoPairs> {
  const workspace = new Workspace()
  const rsa = await workspace.pair('rsa', { names: ['site.example'], keyType: 'rsa' })
  const ec = await workspace.pair('ec', { names: ['site.example'] })
  const certificate = [rsa, ec].map(({ cert, key }) => ({ cert, key }))
  const vhosts = [{ hosts: ['site.example'], certificate, respond: {} }]
  const running = await RunningServer.startFor(t, { vhosts }, workspace)
  const fingerprints = { rsa: rsa.fingerprint256, ec: ec.fingerprint256 }
  assert.deepEqual(await fingerprintsOf(running), fingerprints)
  return { running, workspace, fingerprints }
}

/** What clients of one key type each are shown. */
async function fingerprintsOf(running: RunningServer): Promise<{ rsa: string; ec: string }> {
  const of = async (sigalgs: string): Promise<string> => {
    const client = await connectHttp1({ port: running.port(), servername: 'site.example', tls: { sigalgs } })
    client.close()
    return client.fingerprint256
  }
  return { rsa: await of('rsa_pss_rsae_sha256'), ec: await of('ecdsa_secp256r1_sha256') }
}
