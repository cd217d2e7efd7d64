import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
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
  const issuer = await makeAuthority({ commonName: 'Example CA', issuer: await makeAuthority() })
  const days = { good: 60, soon: 20, sooner: 5, late: -4 }
  for (const [name, left] of Object.entries(days)) {
    await workspace.certificate(name, { names: [`${name}.example`, 'again.example'], issuer, ...lasting(left) })
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

certs/late.pem: info: no site has the host again.example (name_unused)
certs/sooner.pem: info: no site has the host again.example (name_unused)
certs/good.pem: info: no site has the host again.example (name_unused)
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
  const lines = (await workspace.run('certs')).stdout.split('\n').slice(0, 2)
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
  const seconds = (time: Date): string => new Date(Math.floor(time.getTime() / 1000) * 1000).toISOString()
  const { serial, fingerprint256, chain, renewalDue, ...facts } = good
  assert.deepEqual(
    chain.map(({ subject, level }: { subject: string; level: string }) => `${subject} ${level}`),
    ['CN=Test CA ok'],
  )
  assert.equal(renewalDue, seconds(new Date(notAfter.getTime() - 30 * 86_400_000)))
  assert.match(`${serial} ${fingerprint256}`, /^[0-9A-F]+ [0-9A-F]{2}(:[0-9A-F]{2}){31}$/)
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
    renewalId: null,
    daysLeft: 60,
    errors: [],
    defects: [],
    served: null,
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
    renewalDue: null,
    renewalId: null,
    daysLeft: null,
    serial: null,
    fingerprint256: null,
    chain: [],
    defects: [],
    served: null,
  })
  assert.deepEqual({ code, stderr }, { code: 1, stderr: '' })
})

test('every defect is told with its file, what is done about it and its code; a hand is needed for a warning alone', async (context) => {
  const workspace = new Workspace(context)
  await workspace.certificate('good', { names: ['good.example', 'other.example'], ...lasting(60) })
  workspace.write('config/hostward.yaml', `${listener}vhosts:\n${site('good.example', 'good')}`)
  const remark = await workspace.transcript('certs')
  assert.match(remark, /\n\ncerts\/good\.pem: info: no site has the host other\.example \(name_unused\)\nexit 0\n$/)
  chmodSync(join(workspace.directory, 'certs/good.key'), 0o644)
  const warning = await workspace.transcript('certs')
  assert.match(
    warning,
    /\ncerts\/good\.key: warn: everybody .*\(mode 0644\) \(key_permissions\)\n {2}hint: chmod .*\n.*\nexit 1\n$/,
  )
  const [{ defects }] = JSON.parse((await workspace.run('certs', '--json')).stdout)
  assert.deepEqual(
    defects.map(({ act, code }: { act: string; code: string }) => `${act} ${code}`),
    ['warn key_permissions', 'info name_unused'],
  )
})

test('an authority of the chain that has expired needs a hand, although the leaf is well', async (context) => {
  const workspace = new Workspace(context)
  const old = { notBefore: lasting(-5).notBefore, notAfter: lasting(-5).notAfter }
  const issuer = await makeAuthority({ commonName: 'Old CA', issuer: await makeAuthority(), ...old })
  await workspace.certificate('good', { names: ['good.example'], issuer, ...lasting(60) })
  workspace.write('config/hostward.yaml', `${listener}vhosts:\n${site('good.example', 'good')}`)
  const transcript = await workspace.transcript('certs')
  assert.match(transcript, /\ncerts\/good\.pem: expired: authority of the chain: CN=Old CA, not after .*\n/)
  assert.match(transcript, /\(intermediate_expires_first\)\n/)
  assert.match(transcript, /exit 1\n$/)
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
