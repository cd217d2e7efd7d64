import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeAuthority } from '../support/certificates.js'
import { lasting, Workspace } from './workspace.js'

const listeners = `listeners:
  - { name: public, bind: "127.0.0.1:8443" }
  - { name: plain, bind: ":8080", tls: false, redirectToHttps: true }
  - { name: inside, bind: "[::1]:8444" }
`
const fallback = 'fallbackCertificate: { cert: ../certs/default.pem, key: ../certs/default.key }\n'
const vhosts = `vhosts:
  - hosts: [a.example, "*.a.example"]
    certificate: { cert: ../certs/a.pem, key: ../certs/a.key }
    listeners: [public, plain]
    upstream: http://127.0.0.1:3001
  - hosts: [b.example]
    certificate: { cert: ../certs/b.pem, key: ../certs/b.key }
    listeners: [public]
    respond: { status: 503, body: "soon\\n" }
  - hosts: [old.example]
    certificate: { cert: ../certs/b.pem, key: ../certs/b.key }
    listeners: [inside]
    redirect: { to: "https://a.example" }
`

async function sites(context: TestContext, main: string): Promise<Workspace> {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', main)
  await workspace.certificate('default', { names: ['default.example'] })
  await workspace.certificate('a', { names: ['a.example', '*.a.example'] })
  await workspace.certificate('b', { names: ['b.example', 'old.example'] })
  return workspace
}

const withFallback = `${listeners}${fallback}${vhosts}`

test('a host that a site names exactly is explained on every listener', async (context) => {
  const workspace = await sites(context, withFallback)
  assert.equal(
    await workspace.transcript('why', '--host', 'A.example.:443'),
    `Host a.example, SNI a.example: a site answers

listener public (127.0.0.1:8443, TLS)
  certificate  certs/a.pem (ec): SNI a.example belongs to site a.example
  site         a.example (config/hostward.yaml:7:5): its host is exactly this name
  answer       forwarded to http://127.0.0.1:3001

listener plain (:8080, plain HTTP)
  site         a.example (config/hostward.yaml:7:5): its host is exactly this name
  answer       308 to https://a.example and the path (redirectToHttps); ACME challenges: forwarded to http://127.0.0.1:3001

listener inside ([::1]:8444, TLS)
  certificate  certs/default.pem (ec): SNI a.example belongs to no site on this listener, so fallbackCertificate is sent
  site         none: nobody on this listener claims the host
  answer       421 unknown_host: no site on this listener claims the host
  hint         site a.example claims it, but on public, plain alone: add inside to its listeners
exit 0
`,
  )
})

test('a host of a wildcard is explained, over a connection that was opened with another name', async (context) => {
  const workspace = await sites(context, withFallback)
  assert.equal(
    await workspace.transcript('why', '--listener', 'public', '--host', 'x.a.example', '--sni', 'b.example'),
    `Host x.a.example, SNI b.example: a site answers

listener public (127.0.0.1:8443, TLS)
  certificate  certs/b.pem (ec): SNI b.example belongs to site b.example
  site         a.example (config/hostward.yaml:7:5): by its wildcard "*.a.example"
  answer       forwarded to http://127.0.0.1:3001
exit 0
`,
  )
})

test('fixed answers and redirects are told', async (context) => {
  const workspace = await sites(context, withFallback)
  const answers: string[] = []
  for (const [host, listener] of [
    ['b.example', 'public'],
    ['old.example', 'inside'],
  ]) {
    const { stdout } = await workspace.run('why', '--host', host, '--listener', listener)
    answers.push(...stdout.split('\n').filter((line) => line.startsWith('  answer')))
  }
  assert.deepEqual(answers, [
    '  answer       503 with the configured body (text/plain)',
    '  answer       308 to https://a.example/',
  ])
})

const misses: readonly (readonly [string, string | undefined])[] = [
  ['b.exmaple', 'did you mean "b.example"?'],
  ['w.a.exmaple', 'did you mean "w.a.example"?'],
  ['x.y.a.example', '"*.a.example" stands for exactly one label before .a.example'],
  ['www.b.example', '"b.example" stands for itself alone: list "www.b.example" or "*.b.example" beside it'],
  ['nobody.test', undefined],
]

for (const [host, hint] of misses) {
  test(`an unknown host, ${host}, is 421 and ${hint === undefined ? 'nothing is near' : 'says what is near'}`, async (context) => {
    const workspace = await sites(context, withFallback)
    const hintLine = hint === undefined ? '' : `  hint         ${hint}\n`
    assert.equal(
      await workspace.transcript('why', '--listener', 'public', '--host', host),
      `Host ${host}, SNI ${host}: no site answers

listener public (127.0.0.1:8443, TLS)
  certificate  certs/default.pem (ec): SNI ${host} belongs to no site on this listener, so fallbackCertificate is sent
  site         none: nobody on this listener claims the host
  answer       421 unknown_host: no site on this listener claims the host
${hintLine}exit 1
`,
    )
  })
}

test('without SNI the fallback certificate is sent and the Host decides', async (context) => {
  const workspace = await sites(context, withFallback)
  assert.equal(
    await workspace.transcript('why', '--listener', 'public', '--host', 'a.example', '--sni', ''),
    `Host a.example, SNI (none): a site answers

listener public (127.0.0.1:8443, TLS)
  certificate  certs/default.pem (ec): no SNI is sent, so fallbackCertificate is sent
  site         a.example (config/hostward.yaml:7:5): its host is exactly this name
  answer       forwarded to http://127.0.0.1:3001
exit 0
`,
  )
})

test('without SNI and without a fallback the handshake is refused, and no site answers', async (context) => {
  const workspace = await sites(context, `${listeners}${vhosts}`)
  assert.equal(
    await workspace.transcript('why', '--listener', 'public', '--host', 'a.example', '--sni', ''),
    `Host a.example, SNI (none): no site answers

listener public (127.0.0.1:8443, TLS)
  certificate  none: no SNI is sent, and there is no fallbackCertificate
  site         a.example (config/hostward.yaml:6:5): its host is exactly this name
  answer       TLS alert unrecognized_name; no request is read
  hint         a fallbackCertificate lets such handshakes succeed, so that the Host decides
exit 1
`,
  )
})

const noNames: readonly (readonly [string, string])[] = [
  ['bücher.example', 'clients send it as "xn--bcher-kva.example"'],
  ['::1', 'clients send it as "[::1]"'],
  ['*.a.example', 'a request names one host: write a label in place of the star'],
  ['https://a.example/', '"https://a.example/" is not a host name: write the name alone, without scheme and path'],
]

for (const [host, hint] of noNames) {
  test(`what is no host name, ${host}, is 400, with what to write instead`, async (context) => {
    const workspace = await sites(context, withFallback)
    assert.equal(
      await workspace.transcript('why', '--listener', 'plain', '--host', host),
      `Host (not a host name), SNI (none): no site answers

listener plain (:8080, plain HTTP)
  site         none: there is no name to look up
  answer       400 bad_authority: no host, two hosts, or something that is not one host name
  hint         ${hint}
exit 1
`,
    )
  })
}

test('a site that is broken is named with its mistakes', async (context) => {
  const workspace = await sites(context, withFallback.replace('upstream:', 'upstrem:').replace('b.key', 'a.key'))
  const { code, stdout } = await workspace.run('why', '--listener', 'public', '--host', 'www.a.example')
  assert.match(stdout, /answer {7}421 unknown_host/)
  assert.match(stdout, /mistakes {5}a site that claims the host has some; a running server keeps its last good version/)
  assert.match(stdout, /config\/hostward\.yaml:10:5: unknown key "upstrem"\n +hint: did you mean "upstream"\?/)
  assert.equal(code, 1)
  const closed = await workspace.run('why', '--listener', 'public', '--host', 'b.example')
  assert.match(closed.stdout, /config\/hostward\.yaml:12:18: the private key does not belong to the certificate/)
  assert.equal(closed.code, 1)
})

test('a site that has lost one of two certificates still answers, and why says what is wrong', async (context) => {
  const pairs = '[{ cert: ../certs/a.pem, key: ../certs/a.key }, { cert: ../certs/rsa.pem, key: ../certs/rsa.key }]'
  const workspace = await sites(context, withFallback.replace('{ cert: ../certs/a.pem, key: ../certs/a.key }', pairs))
  const ask = ['why', '--listener', 'public', '--host', 'a.example'] as const
  const partly = await workspace.run(...ask)
  assert.match(
    partly.stdout,
    /mistakes {5}something that claims the host has mistakes:\n +config\/hostward\.yaml:8:66: /,
  )
  assert.equal(partly.code, 0)
  await workspace.certificate('rsa', { names: ['a.example', '*.a.example'], keyType: 'rsa' })
  const whole = await workspace.run(...ask)
  assert.match(whole.stdout, /certificate {2}certs\/a\.pem \(ec\).*\n +clients without ECDSA get certs\/rsa\.pem/)
  assert.doesNotMatch(whole.stdout, /mistakes/)
})

test('a certificate that is chosen and not well is warned of', async (context) => {
  const workspace = await sites(context, withFallback)
  const { notBefore, notAfter } = lasting(-4)
  await workspace.certificate('b', { names: ['other.example'], notBefore, notAfter })
  const { code, stdout } = await workspace.run('why', '--listener', 'public', '--host', 'b.example')
  assert.match(stdout, /warning {6}the certificate has expired on .*: clients that verify refuse it/)
  assert.match(stdout, /warning {6}the certificate does not cover b\.example/)
  assert.equal(code, 0)
})

test('an unusable configuration explains nothing and says why', async (context) => {
  const workspace = new Workspace(context)
  assert.equal(
    await workspace.transcript('why', '--host', 'a.example'),
    `! config/hostward.yaml:1:1: the configuration cannot be read: no such file or directory
!   hint: name another file with -c
! hostward: 1 mistake; nothing would be served at a start, a running server keeps what it serves
exit 1
`,
  )
})

test('--json tells the same as one document', async (context) => {
  const workspace = await sites(context, withFallback)
  const { code, stdout, stderr } = await workspace.run('why', '--listener', 'public', '--host', 'b.example', '--json')
  assert.deepEqual(JSON.parse(stdout), {
    host: 'b.example',
    sni: 'b.example',
    answered: true,
    listeners: [
      {
        listener: 'public',
        bind: '127.0.0.1:8443',
        tls: true,
        client: null,
        certificate: {
          from: 'site',
          because: 'SNI b.example belongs to site b.example',
          vhost: 'b.example',
          file: join(workspace.directory, 'certs/b.pem'),
          keyType: 'ec',
          state: 'ok',
          daysLeft: 89,
          withoutEcdsa: null,
          warnings: [],
        },
        site: {
          vhost: 'b.example',
          pattern: 'b.example',
          match: 'exact',
          file: join(workspace.directory, 'config/hostward.yaml'),
          line: 11,
          column: 5,
        },
        route: null,
        answer: { kind: 'respond', status: 503, contentType: 'text/plain' },
        rule: null,
        hints: [],
        mistakes: [],
      },
    ],
  })
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
})

const routed = `listeners:
  - { name: public, bind: "127.0.0.1:8443", tls: false }
upstreams:
  shop:
    endpoints: [http://127.0.0.1:1, { url: "http://127.0.0.1:2", backup: true }, http://127.0.0.1:3]
    balance: { hash: client }
vhosts:
  - hosts: [a.example]
    listeners: [public]
    upstream: http://127.0.0.1:9
    routes:
      - { path: /api, upstream: shop, stripPrefix: true }
      - { path: /old, redirect: { to: /new, status: 301 } }
`

const routeCases: readonly { args: readonly string[]; lines: readonly RegExp[] }[] = [
  { args: ['--path', '/apis'], lines: [/answer +forwarded to http:\/\/127\.0\.0\.1:9$/m] },
  {
    args: ['--path', '/api/x?y', '--client', '192.0.2.1'],
    lines: [/route +\/api$/m, /answer +forwarded to shop$/m, /balance +hash of the client$/m, /^ +http:.*:2$/m],
  },
  { args: ['--path', '/api'], lines: [/balance +hash of the client; depends on the client$/m] },
  { args: ['--path', '/old/x?y'], lines: [/route +\/old$/m, /answer +301 to \/new\/x\?y$/m] },
  { args: ['--path', '/api/../x'], lines: [/answer +400 ambiguous_path: /m] },
]

for (const { args, lines } of routeCases) {
  test(`why ${args.join(' ')} follows the routes of the site`, async (context) => {
    const workspace = await sites(context, routed)
    const { stdout } = await workspace.run('why', '--host', 'a.example', ...args)
    for (const line of lines) assert.match(stdout, line)
  })
}

test('the same client gets the same endpoint, and a backup comes last', async (context) => {
  const workspace = await sites(context, routed)
  const orderFor = async (client: string): Promise<readonly string[]> => {
    const { stdout } = await workspace.run(
      ...(['why', '--json', '--host', 'a.example', '--path', '/api', '--client', client] as const),
    )
    return JSON.parse(stdout).listeners[0].answer.endpoints
  }
  const order = await orderFor('192.0.2.1')
  assert.deepEqual(await orderFor('192.0.2.1'), order)
  assert.equal(order.length, 3)
  assert.equal(order[2], 'http://127.0.0.1:2')
})

test('a path that does not begin with a slash is told', async (context) => {
  const workspace = await sites(context, routed)
  const { code, stderr } = await workspace.run('why', '--host', 'a.example', '--path', 'api')
  assert.equal(code, 2)
  assert.match(stderr, /"api" is no path/)
})

test('a site that demands client certificates is served where the connection is asked for one', async (context) => {
  const main = withFallback
    .replace('    respond:', '    clientCertificate: { ca: ../certs/clients.pem }\n    respond:')
    .replace('    listeners: [public]\n', '    listeners: [public, plain]\n')
  const workspace = await sites(context, main)
  workspace.write('certs/clients.pem', (await makeAuthority()).cert)
  const own = await workspace.run('why', '--host', 'b.example')
  assert.match(own.stdout, /answer {7}503 with the configured body/)
  assert.match(own.stdout, /hint {9}it demands a client certificate: a connection that was opened for its name/)
  assert.match(own.stdout, /308 to https:\/\/b\.example .*ACME challenges: 421 client_certificate_other_connection/)
  const other = await workspace.run('why', '--listener', 'public', '--host', 'b.example', '--sni', 'a.example')
  assert.match(other.stdout, /answer {7}421 client_certificate_other_connection/)
  assert.equal(other.code, 1)
})
