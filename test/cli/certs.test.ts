import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeAuthority } from '../support/certificates.js'
import { dateOf, lasting, Workspace } from './workspace.js'

function site(host: string, pair: string): string {
  return `  - hosts: [${host}]
    certificate: { cert: ../certs/${pair}.pem, key: ../certs/${pair}.key }
    respond: {}
`
}

const listener = 'listeners: [{ name: public, bind: ":443" }]\n'

test('certificates are listed by urgency, with all their sites, and one that is not well is exit 1', async (context) => {
  const workspace = new Workspace(context)
  const issuer = await makeAuthority({ commonName: 'Example CA' })
  const days = { good: 60, soon: 20, sooner: 5, late: -4 }
  for (const [name, left] of Object.entries(days)) {
    await workspace.certificate(name, { names: [`${name}.example`], issuer, ...lasting(left) })
  }
  await workspace.certificate('early', {
    names: ['early.example'],
    notBefore: new Date(Date.now() + 3_600_000),
    notAfter: lasting(60).notAfter,
  })
  await workspace.certificate('torn', { names: ['torn.example'] })
  workspace.write('certs/torn.key', '')
  const sites = ['good', 'soon', 'sooner', 'late', 'early', 'torn']
    .map((name) => site(`${name}.example`, name))
    .join('')
  const fallback = 'fallbackCertificate: { cert: ../certs/good.pem, key: ../certs/good.key }\n'
  workspace.write('config/hostward.yaml', `${listener}${fallback}vhosts:\n${sites}${site('again.example', 'soon')}`)
  const date = (left: number): string => dateOf(lasting(left).notAfter)
  assert.equal(
    await workspace.transcript('certs'),
    `certificate       sites            issuer      not after   days left  level
certs/torn.pem    torn.example     -           -           -          unusable
certs/late.pem    late.example     Example CA  ${date(-4)}  -4         expired
certs/early.pem   early.example    Test CA     ${date(60)}  60         not yet valid
certs/sooner.pem  sooner.example   Example CA  ${date(5)}  5          critical
certs/soon.pem    soon.example +1  Example CA  ${date(20)}  20         warn
certs/good.pem    (fallback) +1    Example CA  ${date(60)}  60         ok

config/hostward.yaml:20:18: the key file is empty
  hint: is it still being written?
exit 1
`,
  )
})

test('certificates that are all well are exit 0', async (context) => {
  const workspace = new Workspace(context)
  await workspace.certificate('good', { names: ['good.example'], ...lasting(60) })
  workspace.write('config/hostward.yaml', `${listener}vhosts:\n${site('good.example', 'good')}`)
  assert.equal(
    await workspace.transcript('certs'),
    `certificate     sites         issuer   not after   days left  level
certs/good.pem  good.example  Test CA  ${dateOf(lasting(60).notAfter)}  60         ok
exit 0
`,
  )
})

test('half a day inside its warning a certificate is exit 1, half a day outside of it exit 0', async (context) => {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', `${listener}vhosts:\n${site('good.example', 'good')}`)
  const codes: (number | null)[] = []
  for (const days of [22, 23]) {
    await workspace.certificate('good', { names: ['good.example'], ...lasting(days) })
    codes.push((await workspace.run('certs')).code)
  }
  assert.deepEqual(codes, [1, 0])
})

test('no line of the table is wider than 120 columns', async (context) => {
  const workspace = new Workspace(context)
  const host = `${'long-label.'.repeat(8)}example`
  const issuer = await makeAuthority({ commonName: 'An Authority With Quite A Long Name Of Its Own' })
  await workspace.certificate(host, { names: [host], issuer, notBefore: lasting(80).notBefore })
  workspace.write('config/hostward.yaml', `${listener}vhosts:\n${site(host, host)}${site('b.example', host)}`)
  const lines = (await workspace.run('certs')).stdout.split('\n')
  assert.match(lines[1], /^….*label\.example\.pem {2}long-label\.long-la… \+1 {2}An Authority With Q… {2}/)
  assert.ok(lines.every((line) => line.length <= 120))
})

test('--json is a list with every fact, and null for what an unusable certificate does not tell', async (context) => {
  const workspace = new Workspace(context)
  const { notBefore, notAfter } = lasting(60)
  await workspace.certificate('good', { names: ['good.example'], notBefore, notAfter })
  workspace.write(
    'config/hostward.yaml',
    `${listener}vhosts:\n${site('good.example', 'good')}${site('bad.example', 'bad')}`,
  )
  const { code, stdout, stderr } = await workspace.run('certs', '--json')
  const [bad, good, ...others] = JSON.parse(stdout)
  assert.deepEqual(others, [])
  const path = (name: string): string => join(workspace.directory, 'certs', name)
  const { serial, fingerprint256, ...facts } = good
  assert.match(`${serial} ${fingerprint256}`, /^[0-9A-F]+ [0-9A-F]{2}(:[0-9A-F]{2}){31}$/)
  const seconds = (time: Date): string => new Date(Math.floor(time.getTime() / 1000) * 1000).toISOString()
  assert.deepEqual(facts, {
    level: 'ok',
    certificate: path('good.pem'),
    key: path('good.key'),
    vhosts: ['good.example'],
    fallback: false,
    issuer: 'CN=Test CA',
    names: ['good.example'],
    keyType: 'ec',
    notBefore: seconds(notBefore),
    notAfter: seconds(notAfter),
    daysLeft: 60,
    errors: [],
  })
  const { errors, ...unknown } = bad
  assert.equal(errors.length, 2)
  assert.deepEqual(unknown, {
    level: 'unusable',
    certificate: path('bad.pem'),
    key: path('bad.key'),
    vhosts: ['bad.example'],
    fallback: false,
    issuer: null,
    names: null,
    keyType: null,
    notBefore: null,
    notAfter: null,
    daysLeft: null,
    serial: null,
    fingerprint256: null,
  })
  assert.deepEqual({ code, stderr }, { code: 1, stderr: '' })
})

test('sites that are left out for their mistakes are told on standard error, and are exit 1', async (context) => {
  const workspace = new Workspace(context)
  await workspace.certificate('good', { names: ['good.example'], ...lasting(60) })
  workspace.write(
    'config/hostward.yaml',
    `${listener}vhosts:\n${site('good.example', 'good')}  - hosts: [bad.example]\n    respond: {}\n`,
  )
  assert.equal(
    await workspace.transcript('certs'),
    `certificate     sites         issuer   not after   days left  level
certs/good.pem  good.example  Test CA  ${dateOf(lasting(60).notAfter)}  60         ok
! config/hostward.yaml:6:5: "certificate" is missing: listener "public" is TLS
!   hint: add certificate: { cert: …, key: … }, or name plain listeners alone under listeners
! hostward: left out for these mistakes: 1 site
exit 1
`,
  )
})

test('an unusable configuration lists nothing and says why', async (context) => {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', 'listeners: []\n')
  const { code, stdout, stderr } = await workspace.run('certs', '--json')
  assert.match(
    stderr,
    /^config\/hostward\.yaml:1:\d+: .*\n(.*\n)*hostward: 1 mistake; nothing would be served at a start/,
  )
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
})
