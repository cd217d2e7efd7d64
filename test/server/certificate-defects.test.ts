// What the log says of pairs that serve and are not as they should be, and of sites that need more than they give.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAuthority } from '../support/certificates.js'
import { RunningServer } from '../support/running-server.js'
import { filesOf, Workspace } from '../support/workspace.js'

const dayMs = 86_400_000

function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * dayMs)
}

test('each defect is told once when a pair is loaded, with its code, what is done, and the sites that it touches', async (t) => {
  const workspace = new Workspace()
  const issuer = await makeAuthority({ commonName: 'CA' })
  const pair = await workspace.pair('site', { names: ['a.example', 'unused.example'], issuer })
  const vhosts = ['a.example', 'b.example'].map((host) => ({ hosts: [host], certificate: filesOf(pair), respond: {} }))
  const running = await RunningServer.startFor(t, { vhosts }, workspace)
  await running.reload({ via: false })
  const lines = running.log.lines({ event: 'certificate_defect' })
  assert.deepEqual(
    lines.map(({ level, act, code, file, vhosts: sites }) => `${level} ${act} ${code} ${file === pair.cert} ${sites}`),
    [
      'warn warn chain_incomplete true a.example,b.example',
      'warn warn key_permissions false a.example,b.example',
      'info info name_unused true a.example,b.example',
      'warn warn name_not_covered true b.example',
    ],
  )
  for (const { msg, hint } of lines) assert.ok(msg !== '' && hint !== '')
})

test('a host that is new to a site whose certificate is not is checked against it, once', async (t) => {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['a.example'] })
  const site = (hosts: string[]): object => ({ hosts, certificate: filesOf(pair), respond: {} })
  const running = await RunningServer.startFor(t, { vhosts: [site(['a.example'])] }, workspace)
  await running.reload({ vhosts: [site(['a.example', 'new.example'])] })
  await running.reload({ vhosts: [site(['a.example', 'new.example'])], via: false })
  const lines = running.log.lines({ event: 'certificate_defect', code: 'name_not_covered' })
  assert.deepEqual(
    lines.map(({ vhosts }) => vhosts),
    [['a.example']],
  )
  assert.match(String(lines[0]?.['msg']), /does not cover new\.example/)
})

test('a renewed pair whose time is still to come waits; the old one serves and its site is well', async (t) => {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['a.example'] })
  const vhosts = [{ hosts: ['a.example'], certificate: filesOf(pair), respond: {} }]
  const running = await RunningServer.startFor(t, { vhosts }, workspace)
  const early = (): unknown => workspace.pair('site', { names: ['a.example'], notBefore: daysFromNow(1) })
  const pending = await running.log.after(early, { event: 'certificate_pending', reason: 'dates' })
  assert.equal(pending['code'], 'not_yet_valid')
  assert.equal(pending['level'], 'info', 'nothing is lost yet')
  assert.match(String(pending['hint']), /check the clock/)
  assert.equal((await running.connect('a.example')).fingerprint256, pair.fingerprint256)
  await running.log.after(() => workspace.pair('site', { names: ['a.example'] }), { event: 'certificate_loaded' })
  assert.deepEqual(running.log.lines({ event: 'site_degraded' }), [])
})

test('an authority in the chains of two sites that ends is told once, with both of them and what visitors will see', async (t) => {
  const workspace = new Workspace()
  const root = await makeAuthority()
  const issuer = await makeAuthority({
    commonName: 'Old CA',
    issuer: root,
    notBefore: daysFromNow(-99),
    notAfter: daysFromNow(-1),
  })
  const vhosts = await Promise.all(
    ['a.example', 'b.example'].map(async (host) => {
      const pair = await workspace.pair(host, { names: [host], issuer })
      return { hosts: [host], certificate: filesOf(pair), respond: {} }
    }),
  )
  const running = await RunningServer.startFor(t, { vhosts }, workspace)
  const line = await running.log.line({ event: 'certificate_expiry' })
  assert.deepEqual(
    [line['kind'], line['state'], line['level'], line['vhosts']],
    ['intermediate', 'expired', 'error', ['a.example', 'b.example']],
  )
  assert.match(String(line['msg']), /^an authority in the chain of a\.example, b\.example expired 24 hours ago: .*526/)
  assert.equal(running.log.lines({ event: 'certificate_expiry' }).length, 1)
})
