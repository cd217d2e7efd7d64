import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { formatConfigError } from '../../src/config/config-error.js'
import { loadConfig, loadSteps } from '../../src/config/load.js'
import { LoadMemory } from '../../src/config/load-memory.js'
import { cipherSuites } from '../../src/net/cipher-suites.js'
import { defaultHttp2Limits } from '../support/http2-limits.js'
import { directory, filesOf, onlyFile, type Section } from './case.js'
import { configOf, listeners, load, mainFile, site } from './loaded.js'

describe('loadConfig', () => {
  test('fills in every default of the main file', () => {
    const config = configOf(listeners)
    assert.deepEqual(config, {
      listeners: [
        {
          name: 'public',
          bind: { host: undefined, port: 443 },
          tls: true,
          tlsSettings: { minVersion: 'TLSv1.2', ciphers: cipherSuites },
          http2: true,
          announceOrigins: false,
          redirectToHttps: false,
          proxyProtocol: undefined,
          clientAddress: [],
          trustProto: false,
          allow: undefined,
          place: { file: mainFile, line: 1, column: 13 },
        },
      ],
      addressSets: new Map(),
      fallbackCertificate: undefined,
      upstreams: new Map(),
      vhosts: [],
      reload: { watch: true, debounceMs: 200, pollMs: 2000, renewalGraceMs: 30_000 },
      timeouts: {
        handshakeMs: 10_000,
        headersMs: 15_000,
        bodyIdleMs: 60_000,
        idleMs: 920_000,
        upstreamConnectMs: 5000,
        upstreamResponseMs: 95_000,
        upstreamIdleMs: 4000,
        tunnelIdleMs: 3_600_000,
        heldBodyMs: 1000,
        shutdownMs: 30_000,
      },
      limits: {
        connections: 20_000,
        tlsContexts: 5000,
        headerBytes: 65_536,
        headerCount: 256,
        targetBytes: 16_384,
        pipelined: 16,
        requestBodyBytes: null,
        heldBodyBytes: 16_384,
        bodyBytesPerSecondMin: 100,
        http2: defaultHttp2Limits,
      },
      log: {
        level: 'info',
        access: true,
        file: null,
        query: true,
        requestHeaders: [],
        place: { file: mainFile, line: 1, column: 1 },
      },
    })
  })

  test('fills in every default of a site', () => {
    const { vhosts } = configOf(`${listeners}vhosts:\n${site('Site-A.Example.COM.', 'respond: {}')}`)
    assert.deepEqual(vhosts, [
      {
        id: 'site-a.example.com',
        place: { file: mainFile, line: 3, column: 5 },
        hosts: ['site-a.example.com'],
        listeners: ['public'],
        certificates: [
          { cert: `${directory}/a.pem`, key: `${directory}/a.key`, place: { file: mainFile, line: 3, column: 52 } },
        ],
        minVersion: undefined,
        clientCertificate: undefined,
        answer: { kind: 'respond', status: 200, contentType: 'text/plain', body: '' },
        routes: [],
        headers: { request: { host: undefined, set: [], remove: [] }, response: { set: [], remove: [] } },
        errorPages: [],
        limits: { requestBodyBytes: Number.POSITIVE_INFINITY },
        allow: undefined,
        via: true,
        log: { access: true },
      },
    ])
  })

  test('reads the three ways to answer', () => {
    const answers = [
      'upstream: "http://[::1]:3001"',
      'redirect: { to: "https://b.example:444" }',
      'respond: { status: 204 }',
    ]
    const sites = answers.map((answer, index) => site(`${index}.a.example`, answer)).join('')
    const config = configOf(`${listeners}vhosts:\n${sites}`)
    const [forward] = config.vhosts.map(({ answer }) => answer)
    assert.ok(forward?.kind === 'upstream')
    const { upstream } = forward
    assert.equal(upstream.name, 'http://[::1]:3001')
    assert.deepEqual(
      config.vhosts.map(({ answer }) => answer),
      [
        { kind: 'upstream', upstream, timeouts: upstream.timeouts },
        { kind: 'redirect', origin: { scheme: 'https', host: 'b.example', port: 444 }, path: '', status: 308 },
        { kind: 'respond', status: 204, contentType: 'text/plain', body: '' },
      ],
    )
  })

  test('a site is served by every TLS listener and the plain ones that redirect, unless it names some', () => {
    const text = `listeners:
  - { name: public, bind: ":443" }
  - { name: other, bind: ":444", http2: false }
  - { name: redirecting, bind: ":80", tls: false, redirectToHttps: true }
  - { name: plain, bind: ":81", tls: false }
vhosts:
${site('a.example', 'respond: {}')}${site('b.example', 'respond: {}, listeners: [plain]')}`
    const config = configOf(text)
    assert.deepEqual(
      config.vhosts.map((each) => each.listeners),
      [['public', 'other', 'redirecting'], ['plain']],
    )
    assert.deepEqual(
      config.listeners.map((each) => each.http2),
      [true, false, false, false],
    )
  })

  test('a site says for itself what the top level says for all', () => {
    const sites = site('a.example', 'respond: {}') + site('b.example', 'respond: {}, via: true, log: { access: true }')
    const { vhosts } = configOf(`${listeners}via: false\nlog: { access: false }\nvhosts:\n${sites}`)
    assert.deepEqual(
      vhosts.map(({ via, log }) => [via, log.access]),
      [
        [false, false],
        [true, true],
      ],
    )
  })

  test('paths are relative to the file that names them', () => {
    const certificate = 'certificate: { cert: x.pem, key: ../x.key }'
    const { config } = load({
      'hostward.yaml': `${listeners}fallbackCertificate: { cert: ./x.pem, key: /keys/x.key }\nlog: { file: ../x.log }\ninclude: [vhosts/*.yaml]\n`,
      'vhosts/a.yaml': `hosts: [a.example]\n${certificate}\nrespond: {}\n`,
    })
    assert.equal(config?.fallbackCertificate?.cert, `${directory}/x.pem`)
    assert.equal(config?.fallbackCertificate?.key, '/keys/x.key')
    assert.equal(config?.log.file, '/etc/x.log')
    assert.deepEqual(config?.vhosts[0]?.certificates, [
      {
        cert: `${directory}/vhosts/x.pem`,
        key: `${directory}/x.key`,
        place: { file: `${directory}/vhosts/a.yaml`, line: 2, column: 14 },
      },
    ])
  })

  test('header names of the log are in lower case', () => {
    assert.deepEqual(configOf(`${listeners}log: { requestHeaders: [CF-Ray] }\n`).log.requestHeaders, ['cf-ray'])
  })

  test('it tells every file it tried and every directory it listed, sorted by path', () => {
    const sites = { 'vhosts/b.yaml': 'vhosts: []\n', 'vhosts/a.yaml': 'vhosts: []\n', 'vhosts/a.txt': '' }
    const { files, directories } = load({ 'hostward.yaml': `${listeners}include: [z.yaml, vhosts/*.yaml]\n`, ...sites })
    assert.deepEqual(
      files,
      ['hostward.yaml', 'vhosts/a.yaml', 'vhosts/b.yaml', 'z.yaml'].map((name) => `${directory}/${name}`),
    )
    assert.deepEqual(directories, [`${directory}/vhosts`])
  })

  test('even a rejected main file tells what to watch', () => {
    const { config, files } = loadConfig(mainFile, onlyFile('['))
    assert.deepEqual([config, files], [undefined, [mainFile]])
  })

  test('a file that two patterns mean is read once', () => {
    const { config, brokenSites } = load({
      'hostward.yaml': `${listeners}include: [vhosts/*.yaml, vhosts/a*]\n`,
      'vhosts/a.yaml': 'hosts: [a.example]\ncertificate: { cert: a.pem, key: a.key }\nrespond: {}\n',
    })
    assert.deepEqual([config?.vhosts.length, brokenSites], [1, []])
  })

  const globs: readonly (readonly [pattern: string, name: string, isMeant: boolean])[] = [
    ['*', 'a.yaml', true],
    ['*', '.a.yaml', false],
    ['.*', '.a.yaml', true],
    ['*.yaml', 'a.yml', false],
    ['*.yaml', '.yaml', false],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['a*a', 'a', false],
    ['*a*a', 'aa', true],
    ['?.yaml', 'a.yaml', false],
  ]
  for (const [pattern, name, isMeant] of globs) {
    test(`"${pattern}" ${isMeant ? 'includes' : 'does not include'} ${name}`, () => {
      const { files } = load({
        'hostward.yaml': `${listeners}include: ["d/${pattern}"]\n`,
        [`d/${name}`]: 'vhosts: []\n',
      })
      assert.equal(files.includes(`${directory}/d/${name}`), isMeant)
    })
  }

  test('a memory sees a changed file, and only that is parsed again', () => {
    const memory = new LoadMemory()
    const files = onlyFile('')
    memory.startLoad(files)
    const [before, other] = [memory.parse('/a.yaml', 'a: 1'), memory.parse('/b.yaml', 'a: 1')]
    assert.notEqual(other, before)
    memory.startLoad(files)
    assert.equal(memory.parse('/a.yaml', 'a: 1'), before)
    memory.startLoad(files)
    const after = memory.parse('/a.yaml', 'a: 2')
    assert.ok('source' in after)
    assert.deepEqual({ ...(after.source.value as object) }, { a: 2 })
  })

  describe('pairs of certificates', () => {
    const include = `${listeners}include: [a.yaml, b.yaml, c.yaml]\n`
    const sites = { 'a.yaml': alone('a'), 'b.yaml': alone('b'), 'c.yaml': alone('c') }

    test('are told while files are being read, once for each sound site of a file that is new', () => {
      const memory = new LoadMemory()
      const broken = { ...sites, 'b.yaml': alone('b').replace('respond', 'respnod') }
      assert.deepEqual(pairsTold({ 'hostward.yaml': include, ...broken }, memory), ['a.pem', 'c.pem'])
      assert.deepEqual(pairsTold({ 'hostward.yaml': include, ...sites }, memory), ['b.pem'])
      assert.deepEqual(pairsTold({ 'hostward.yaml': include, ...sites }, memory), [])
    })

    test('are not told where the main file has mistakes, because nothing will be served', () => {
      const main = include.replace(':443', ':99999')
      assert.deepEqual(pairsTold({ 'hostward.yaml': main, ...sites }, new LoadMemory()), [])
    })

    test('of sites in the main file are told too', () => {
      const main = `${listeners}vhosts:\n${site('a.example', 'respond: {}')}${site('b.example', 'respond: {}')}`
      assert.deepEqual(pairsTold({ 'hostward.yaml': main }, new LoadMemory()), ['a.pem', 'a.pem'])
    })
  })

  test('files on a real disk are read, and those that cannot be are told', (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-config-'))
    context.after(() => rmSync(folder, { recursive: true, force: true }))
    mkdirSync(join(folder, 'vhosts', 'directory.yaml'), { recursive: true })
    writeFileSync(join(folder, 'hostward.yaml'), `${listeners}include: [vhosts/*.yaml, gone.yaml]\n`)
    writeFileSync(join(folder, 'vhosts', 'secret.yaml'), '')
    chmodSync(join(folder, 'vhosts', 'secret.yaml'), 0)
    const disk = { read: (path: string) => readFileSync(path, 'utf8'), list: (path: string) => readdirSync(path) }
    const { brokenSites } = loadConfig(join(folder, 'hostward.yaml'), disk)
    const told = brokenSites.flatMap(({ errors }) => errors.map((error) => formatConfigError(error, folder)))
    assert.deepEqual(
      told.filter((line) => !line.includes('secret')).map((line) => line.replaceAll(folder, '')),
      [
        'hostward.yaml:2:26: the included file /gone.yaml cannot be read: no such file or directory',
        'hostward.yaml:2:11: the included file /vhosts/directory.yaml cannot be read: it is a directory',
      ],
    )
    assert.equal(brokenSites.length, 3)
  })
})

function alone(name: string): string {
  return `hosts: [${name}.example]\ncertificate: { cert: ${name}.pem, key: ${name}.key }\nrespond: {}\n`
}

/** The names of the certificates that a load tells of before it is over. */
function pairsTold(texts: Readonly<Record<string, string>>, memory: LoadMemory): readonly string[] {
  const sections = Object.entries(texts).map(([name, text]): [string, Section] => [`${directory}/${name}`, { text }])
  const told: string[] = []
  const onPair = ({ cert }: { readonly cert: string }): void => void told.push(cert.slice(directory.length + 1))
  const steps = loadSteps({ mainFile, files: filesOf(new Map(sections)), memory, onPair })
  let early = told.length
  while (steps.next().done !== true) early = told.length
  assert.equal(told.length, early, 'nothing is told in the last step')
  return told
}

describe('formatConfigError', () => {
  const error = { file: '/srv/config/hostward.yaml', line: 14, column: 15, message: 'upstream "shpo" is not defined' }
  test('shows a path below the directory as relative', () => {
    const shown = formatConfigError({ ...error, hint: 'did you mean "shop"?' }, '/srv')
    assert.equal(shown, 'config/hostward.yaml:14:15: upstream "shpo" is not defined\n  hint: did you mean "shop"?')
  })
  test('shows a path elsewhere as it is, and no hint where there is none', () => {
    assert.equal(formatConfigError(error, '/home'), '/srv/config/hostward.yaml:14:15: upstream "shpo" is not defined')
  })
})
