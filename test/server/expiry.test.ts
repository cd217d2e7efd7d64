// What the log says of certificates that come to their end, and when they have been renewed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CertificateOptions } from '../support/certificates.js'
import { RunningServer } from '../support/running-server.js'
import { filesOf, Workspace } from '../support/workspace.js'

const dayMs = 86_400_000

const ends: readonly { state: string; level: string; startsInDays: number; endsInDays: number }[] = [
  { state: 'warn', level: 'warn', startsInDays: -70, endsInDays: 20 },
  { state: 'critical', level: 'error', startsInDays: -84, endsInDays: 6 },
  { state: 'expired', level: 'error', startsInDays: -91, endsInDays: -1 },
  { state: 'not_yet_valid', level: 'error', startsInDays: 1, endsInDays: 91 },
]

for (const { state, level, startsInDays, endsInDays } of ends) {
  test(`a certificate that is loaded ${state} is told with its sites, and again when it has been renewed`, async (t) => {
    const workspace = new Workspace()
    const names = ['a.example', 'b.example']
    const pair = await workspace.pair('ending', { names, ...lifetime(startsInDays, endsInDays) })
    const well = await workspace.pair('well', { names: ['well.example'] })
    const vhosts = [
      ...names.map((host) => ({ hosts: [host], certificate: filesOf(pair), respond: { body: host } })),
      { hosts: ['well.example'], certificate: filesOf(well), respond: {} },
    ]
    const running = await RunningServer.startFor(t, { vhosts }, workspace)
    const line = await running.log.line({ event: 'certificate_expiry' })
    const { vhosts: sites, file, certificate, fingerprint256, daysLeft } = line
    assert.deepEqual(
      { state: line['state'], level: line['level'], sites, file, certificate, fingerprint256 },
      { state, level, sites: names, file: pair.cert, certificate: pair.cert, fingerprint256: pair.fingerprint256 },
    )
    assert.ok(Math.abs(Number(daysLeft) - endsInDays) <= 1)
    const client = await running.connect('a.example')
    assert.equal((await client.ask('a.example')).body, 'a.example', 'it is served all the same')

    const renewal = (): unknown => workspace.pair('ending', { names })
    const recovered = await running.log.after(renewal, { event: 'certificate_expiry', state: 'ok' })
    assert.deepEqual([recovered['level'], recovered['vhosts']], ['info', names])
    assert.equal(running.log.lines({ event: 'certificate_expiry' }).length, 2)
  })
}

for (const count of [20, 21]) {
  test(`of ${count} sites with one certificate the first twenty are named in each line, and all are counted`, async (t) => {
    const workspace = new Workspace()
    const names = Array.from({ length: count }, (_, index) => `site${index}.example`)
    const pair = await workspace.pair('ending', { names, ...lifetime(-84, 6) })
    const vhosts = names.map((host) => ({ hosts: [host], certificate: filesOf(pair), respond: {} }))
    const running = await RunningServer.startFor(t, { vhosts }, workspace)
    workspace.write('ending.key', 'half a key')
    for (const event of ['certificate_expiry', 'certificate_loaded', 'certificate_pending']) {
      const line = await running.log.line({ event })
      assert.deepEqual([line['vhosts'], line['sitesTotal']], [names.slice(0, 20), count], event)
    }
  })
}

test('a fallback certificate that has expired is told without sites', async (t) => {
  const workspace = new Workspace()
  const pair = await workspace.pair('fallback', { names: ['fallback.example'], ...lifetime(-10, -1) })
  const running = await RunningServer.startFor(t, { fallbackCertificate: filesOf(pair) }, workspace)
  const { state, vhosts } = await running.log.line({ event: 'certificate_expiry' })
  assert.deepEqual({ state, vhosts }, { state: 'expired', vhosts: [] })
})

function lifetime(startsInDays: number, endsInDays: number): CertificateOptions {
  const at = (days: number): Date => new Date(Date.now() + days * dayMs)
  return { notBefore: at(startsInDays), notAfter: at(endsInDays) }
}
