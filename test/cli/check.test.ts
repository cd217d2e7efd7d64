import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeAuthority } from '../support/certificates.js'
import { Workspace } from './workspace.js'

const twoSites = `listeners:
  - name: public
    bind: "127.0.0.1:8443"
  - name: plain
    bind: "127.0.0.1:8080"
    tls: false
    redirectToHttps: true
fallbackCertificate: { cert: ../certs/default.pem, key: ../certs/default.key }
vhosts:
  - hosts: [a.example]
    certificate: { cert: ../certs/a.pem, key: ../certs/a.key }
    respond: { body: a }
  - hosts: [b.example, "*.b.example"]
    certificate: { cert: ../certs/b.pem, key: ../certs/b.key }
    upstream: http://127.0.0.1:3001
`

async function twoSitesIn(context: TestContext): Promise<Workspace> {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', twoSites)
  await workspace.certificate('default', { names: ['default.example'] })
  await workspace.certificate('a', { names: ['a.example'] })
  await workspace.certificate('b', { names: ['b.example', '*.b.example'] })
  return workspace
}

test('a sound configuration is one line and exit 0', async (context) => {
  const workspace = await twoSitesIn(context)
  assert.equal(
    await workspace.transcript('check'),
    `config/hostward.yaml: 2 sites on 2 listeners, no mistakes
exit 0
`,
  )
})

test('another main file is checked with -c', async (context) => {
  const workspace = await twoSitesIn(context)
  workspace.write(
    'other/site.yaml',
    twoSites.replace('  - hosts: [b.example, "*.b.example"]', '  - hosts: [b.example]'),
  )
  assert.equal(
    await workspace.transcript('check', '-c', 'other/site.yaml'),
    `other/site.yaml: 2 sites on 2 listeners, no mistakes
exit 0
`,
  )
})

test('a missing main file is a mistake with a hint', async (context) => {
  const workspace = new Workspace(context)
  assert.equal(
    await workspace.transcript('check'),
    `config/hostward.yaml:1:1: the configuration cannot be read: no such file or directory
  hint: name another file with -c
config/hostward.yaml: 1 mistake
exit 1
`,
  )
})

test('invalid YAML is a mistake at its place', async (context) => {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', 'listeners: [\n  - name: public\n')
  const { code, stdout, stderr } = await workspace.run('check')
  assert.match(stdout, /^config\/hostward\.yaml:\d+:\d+: /)
  assert.doesNotMatch(stdout + stderr, /\n {4}at /)
  assert.deepEqual({ code, stderr }, { code: 1, stderr: '' })
})

test('an unquoted wildcard is told as what it is', async (context) => {
  const workspace = await twoSitesIn(context)
  workspace.write('config/hostward.yaml', twoSites.replace('"*.b.example"', '*.b.example'))
  assert.equal(
    await workspace.transcript('check'),
    `config/hostward.yaml:13:24: an unquoted *.b.example is an alias in YAML
  hint: quote it: "*.b.example"
config/hostward.yaml: 1 mistake
exit 1
`,
  )
})

test('all mistakes of the main file, included files and certificates are told at once, in the order of the files', async (context) => {
  const workspace = await twoSitesIn(context)
  const main = twoSites
    .replace('[a.example]', '[a.example]\n    listners: [public]')
    .replace('../certs/b.key', '../certs/a.key')
  workspace.write('config/hostward.yaml', `${main}include: [more/*.yaml]\n`)
  workspace.write(
    'config/more/c.yaml',
    'hosts: [c.example]\ncertificate: { cert: ../../certs/c.pem, key: ../../certs/c.key }\nrespond: {}\n',
  )
  workspace.write(
    'config/more/d.yaml',
    'hosts: [B.example.]\ncertificate: { cert: ../../certs/b.pem, key: ../../certs/b.key }\nrespond: {}\nupstream: 127.0.0.1:1\n',
  )
  assert.equal(
    await workspace.transcript('check'),
    `config/hostward.yaml:11:5: unknown key "listners"
  hint: did you mean "listeners"?
config/hostward.yaml:15:18: the private key does not belong to the certificate in DIR/certs/b.pem
  hint: if both are being renewed, the other file is still to come
config/more/c.yaml:2:14: DIR/certs/c.pem does not exist, or its directory cannot be entered
  hint: is the path right? relative paths start at the file that names them
config/more/c.yaml:2:14: DIR/certs/c.key does not exist, or its directory cannot be entered
  hint: is the path right? relative paths start at the file that names them
config/more/d.yaml:1:9: host "b.example" is taken on listener "public" by DIR/config/hostward.yaml:14:13
  hint: remove one of the two, or serve them on different listeners
config/more/d.yaml:4:1: upstream stands beside respond
  hint: a site answers in one way: keep one of them
config/more/d.yaml:4:11: upstream "127.0.0.1:1" is not an http://, https:// or unix: address
  hint: write "http://127.0.0.1:1"
config/hostward.yaml: 7 mistakes
exit 1
`,
  )
})

test('mistakes of sites are told beside one that makes the whole unusable', async (context) => {
  const workspace = await twoSitesIn(context)
  workspace.write(
    'config/hostward.yaml',
    `${twoSites.replace('[a.example]', '[a_example:80]')}timeouts: { headersMs: 0 }\n`,
  )
  const { code, stdout } = await workspace.run('check')
  assert.match(stdout, /^config\/hostward\.yaml:10:13: .* has a port$/m)
  assert.match(stdout, /^config\/hostward\.yaml:16:24: headersMs/m)
  assert.match(stdout, /^config\/hostward\.yaml: 2 mistakes$/m)
  assert.equal(code, 1)
})

test('a key that cannot be read is a mistake where it is named, also as the fallback', async (context) => {
  const workspace = await twoSitesIn(context)
  mkdirSync(join(workspace.directory, 'certs/folder'))
  workspace.write(
    'config/hostward.yaml',
    twoSites.replace('../certs/default.key', '../certs/folder').replace('../certs/a.key', '../certs/folder'),
  )
  assert.equal(
    await workspace.transcript('check'),
    `config/hostward.yaml:8:22: DIR/certs/folder is not a regular file
  hint: can the user that Hostward runs as read it, and enter its directories?
config/hostward.yaml:11:18: DIR/certs/folder is not a regular file
  hint: can the user that Hostward runs as read it, and enter its directories?
config/hostward.yaml: 2 mistakes
exit 1
`,
  )
})

test('a host that its certificate does not cover and an incomplete chain are warnings, and no failure', async (context) => {
  const workspace = await twoSitesIn(context)
  await workspace.certificate('b', { names: ['b.example'], issuer: await makeAuthority() })
  assert.equal(
    await workspace.transcript('check'),
    `config/hostward.yaml:14:18: warning: the file does not hold the issuer's certificate, so strict clients cannot verify the chain
  hint: use the full chain (certbot: fullchain.pem): leaf first, then each issuer, without the root
config/hostward.yaml:14:18: warning: the certificate does not cover *.b.example, so clients that verify refuse it there
  hint: it covers b.example
config/hostward.yaml: 2 sites on 2 listeners, no mistakes, 2 warnings
exit 0
`,
  )
})

test('an expired certificate alone fails nothing', async (context) => {
  const workspace = await twoSitesIn(context)
  const [notBefore, notAfter] = [new Date('2020-01-01'), new Date('2020-02-01')]
  await workspace.certificate('a', { names: ['a.example'], notBefore, notAfter })
  assert.equal(
    await workspace.transcript('check'),
    `config/hostward.yaml: 2 sites on 2 listeners, no mistakes
exit 0
`,
  )
})

test('--json is one document of mistakes and warnings', async (context) => {
  const workspace = await twoSitesIn(context)
  const main = twoSites.replace('upstream: http://127.0.0.1:3001', 'upstrem: http://127.0.0.1:3001')
  workspace.write(
    'config/hostward.yaml',
    main.replace('../certs/a.pem', '../certs/b.pem').replace('../certs/a.key', '../certs/b.key'),
  )
  const { code, stdout, stderr } = await workspace.run('check', '--json')
  const file = join(workspace.directory, 'config/hostward.yaml')
  assert.deepEqual(JSON.parse(stdout), {
    ok: false,
    errors: [
      {
        file,
        line: 13,
        column: 5,
        message: 'the site has no answer',
        hint: 'add one of upstream, respond and redirect',
        vhost: 'b.example',
      },
      {
        file,
        line: 15,
        column: 5,
        message: 'unknown key "upstrem"',
        hint: 'did you mean "upstream"?',
        vhost: 'b.example',
      },
    ],
    warnings: [
      {
        file,
        line: 11,
        column: 18,
        message: 'the certificate does not cover a.example, so clients that verify refuse it there',
        hint: 'it covers b.example, *.b.example',
        vhost: 'a.example',
      },
    ],
  })
  assert.deepEqual({ code, stderr }, { code: 1, stderr: '' })
})

test('--json of a sound configuration is ok', async (context) => {
  const workspace = await twoSitesIn(context)
  const { code, stdout } = await workspace.run('check', '--json')
  assert.deepEqual(JSON.parse(stdout), { ok: true, errors: [], warnings: [] })
  assert.equal(code, 0)
})

test('--schema prints the JSON Schema and reads no file', async (context) => {
  const { code, stdout, stderr } = await new Workspace(context).run('check', '--schema')
  const schema = JSON.parse(stdout)
  assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema')
  assert.ok('vhosts' in schema.properties)
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
})

test('an escape sequence in a file reaches no terminal', async (context) => {
  const workspace = await twoSitesIn(context)
  workspace.write('config/hostward.yaml', `${twoSites}"\\e[31mred": 1\n`)
  const { code, stdout } = await workspace.run('check')
  assert.match(stdout, /u001b\[31mred/)
  assert.ok(!stdout.includes('\u001b'))
  assert.equal(code, 1)
})

test('what a site demands of clients is checked too: its authorities, and where nobody could show a certificate', async (context) => {
  const workspace = await twoSitesIn(context)
  const main = twoSites
    .replace('    respond:', '    clientCertificate: { ca: ../certs/clients.pem }\n    respond:')
    .replace('    upstream:', '    clientCertificate: { ca: ../certs/a.pem }\n    upstream:')
  workspace.write('config/hostward.yaml', main)
  workspace.write('certs/clients.pem', '')
  const { stdout, code } = await workspace.run('check')
  assert.equal(code, 1)
  assert.match(stdout, /clients\.pem: the file is empty/)
  assert.match(stdout, /a\.pem: certificate 1 of 2 \(.*\) is no authority/)
})

test('a site that demands client certificates is warned of where it is closed for want of TLS', async (context) => {
  const workspace = await twoSitesIn(context)
  const demand = '    clientCertificate: { ca: ../certs/clients.pem }\n    listeners: [public, plain]\n    respond:'
  const main = twoSites.replace('    redirectToHttps: true\n', '').replace('    respond:', demand)
  workspace.write('config/hostward.yaml', main)
  workspace.write('certs/clients.pem', (await makeAuthority()).cert)
  const { stdout, code } = await workspace.run('check')
  assert.equal(code, 0)
  assert.match(stdout, /the site is closed on listener "plain": without TLS nobody can show/)
})
