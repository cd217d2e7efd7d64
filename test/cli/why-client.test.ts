// `why` about addresses: who is let in, who a client is taken for, and what says so; and that the server does the same.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { explain, type Ground } from '../../src/cli/explanation.js'
import { inspect } from '../../src/cli/inspection.js'
import { encodeProxyV2 } from '../../src/net/proxy-protocol-v2.js'
import { within } from '../support/deadline.js'
import { ServedProgram } from './served-program.js'
import { Workspace } from './workspace.js'

const main = `addressSets: { cdn: cdn.txt }
listeners:
  - name: cdn
    bind: "127.0.0.1:0"
    tls: false
    clientAddress: { from: [cdn], header: CF-Connecting-IP }
    trustProto: true
  - name: edge
    bind: "127.0.0.1:0"
    tls: false
    proxyProtocol: { from: [127.0.0.0/8], mode: require }
    clientAddress: { from: [cdn], header: Forwarded }
    allow: { from: [cdn, 198.51.100.0/24], of: claimed }
  - { name: closed, bind: "127.0.0.1:0", tls: false, allow: { from: [192.0.2.0/24] } }
vhosts:
  - hosts: [open.example]
    listeners: [cdn, edge, closed]
    upstream: http://127.0.0.1:PORT
  - hosts: [office.example]
    listeners: [cdn, edge]
    upstream: http://127.0.0.1:PORT
    allow: { from: ["203.0.113.0/24", "2001:db8::/32"], of: client }
`

function workspaceOf(context: TestContext, port = 1): Workspace {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', main.replaceAll('PORT', String(port)))
  workspace.write('config/cdn.txt', '192.0.2.0/24\n')
  return workspace
}

async function linesOf(workspace: Workspace, ...args: readonly string[]): Promise<string[]> {
  const { stdout } = await workspace.run('why', ...args)
  return stdout.split('\n').filter((line) => /^ {2}(?:client|answer|rule|hint) /.test(line))
}

const ask = (listener: string, host: string, ...addresses: readonly string[]): readonly string[] => {
  return ['--listener', listener, '--host', host, ...addresses]
}

const stories: readonly {
  readonly what: string
  readonly args: readonly string[]
  readonly lines: readonly string[]
}[] = [
  {
    what: 'a client that connects itself',
    args: ask('cdn', 'open.example', '--client', '203.0.113.9'),
    lines: ['client       203.0.113.9 as measured, http', 'answer       forwarded to http://127.0.0.1:1'],
  },
  {
    what: 'a client that the CDN names',
    args: ask('cdn', 'office.example', '--client', '::ffff:203.0.113.9', '--peer', '192.0.2.1'),
    lines: [
      'client       203.0.113.9 by header:cf-connecting-ip, http, unless its X-Forwarded-Proto says otherwise',
      'answer       forwarded to http://127.0.0.1:1',
    ],
  },
  {
    what: 'a client that somebody else names',
    args: ask('cdn', 'office.example', '--client', '203.0.113.9', '--peer', '198.51.100.1'),
    lines: [
      'client       198.51.100.1 as measured, http; 203.0.113.9 is not believed',
      'answer       403 peer_not_allowed: the site serves certain addresses alone (`allow`), and not this one; or its listener does, since a reload',
      'rule         config/hostward.yaml:22:5',
      "hint         nobody's word is taken for the client: its clientAddress does not list 198.51.100.1",
    ],
  },
  {
    what: 'the whole chain',
    args: ask('edge', 'office.example', '--client', '2001:db8::9', '--claimed', '192.0.2.1', '--peer', '127.0.0.1'),
    lines: ['client       2001:db8::9 by header:forwarded, http', 'answer       forwarded to http://127.0.0.1:1'],
  },
  {
    what: 'a stranger behind the edge',
    args: ask('edge', 'open.example', '--claimed', '203.0.113.9', '--peer', '127.0.0.1'),
    lines: [
      'client       203.0.113.9 by its PROXY header, http',
      'answer       none, the connection is closed (not_allowed): the listener takes certain addresses alone, and not this one',
      'rule         config/hostward.yaml:13:5',
    ],
  },
  {
    what: 'an edge that says nothing',
    args: ask('edge', 'open.example', '--peer', '127.0.0.1'),
    lines: [
      'client       127.0.0.1 as measured, http',
      'answer       none, the connection is closed (proxy_missing): it is among those that must send a PROXY header',
      'rule         config/hostward.yaml:11:5',
    ],
  },
  {
    what: 'a PROXY header of somebody else',
    args: ask('edge', 'open.example', '--claimed', '192.0.2.1', '--peer', '198.51.100.1'),
    lines: [
      'client       192.0.2.1 by its PROXY header, http',
      'answer       none, the connection is closed (proxy_untrusted): it is not among those whose PROXY header is believed',
      'rule         config/hostward.yaml:11:5',
    ],
  },
  {
    what: 'a PROXY header where none is looked for',
    args: ask('closed', 'open.example', '--claimed', '203.0.113.1', '--peer', '192.0.2.1'),
    lines: [
      'client       192.0.2.1 as measured, http',
      'answer       forwarded to http://127.0.0.1:1',
      'hint         no PROXY header is looked for here: proxyProtocol says whose are believed',
    ],
  },
  {
    what: 'rules of addresses without an address',
    args: ask('edge', 'office.example'),
    lines: [
      'answer       forwarded to http://127.0.0.1:1',
      'hint         the listener and the site take certain addresses alone: --client ADDRESS asks for one',
    ],
  },
]

for (const { what, args, lines } of stories) {
  test(`why tells of ${what}`, async (context) => {
    const workspace = workspaceOf(context)
    assert.deepEqual(
      await linesOf(workspace, ...args),
      lines.map((line) => `  ${line}`),
    )
  })
}

test('--json has the client and the rule', async (context) => {
  const workspace = workspaceOf(context)
  const { stdout, code } = await workspace.run(
    'why',
    '--json',
    ...ask('closed', 'open.example', '--client', '203.0.113.9'),
  )
  const [{ client, answer, rule }] = JSON.parse(stdout).listeners
  assert.deepEqual(client, {
    ...{ address: '203.0.113.9', by: 'peer', scheme: 'http', isSchemeClaimed: false, notBelieved: null },
  })
  assert.deepEqual([answer.kind, answer.reason], ['close', 'not_allowed'])
  assert.deepEqual([rule.line, rule.column], [14, 54])
  assert.equal(code, 1)
})

for (const [args, message] of [
  [['--client', '203.0.113.9:80'], /"203\.0\.113\.9:80" is no IP address/],
  [['--claimed', '203.0.113.9'], /--claimed says nothing without --peer/],
] as const) {
  test(`${args.join(' ')} is no question`, async (context) => {
    const { code, stderr } = await workspaceOf(context).run('why', '--host', 'open.example', ...args)
    assert.equal(code, 2)
    assert.match(stderr, message)
  })
}

/** What one request came to: closed, or its status and what the endpoint was told of the client. */
interface Outcome {
  readonly status: number | undefined
  readonly told: string | undefined
}

test('the server does what why says', async (context) => {
  const upstream = createServer(({ headers }, response) => response.end(headers['x-forwarded-for']))
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  context.after(() => upstream.close())
  const workspace = workspaceOf(context, (upstream.address() as AddressInfo).port)
  const server = new ServedProgram(context, workspace)
  const { port } = await server.logged('listening', { listener: 'edge' })
  const { snapshot, loaded } = await inspect(join(workspace.directory, 'config/hostward.yaml'))
  assert.ok(snapshot)
  for (const claimed of ['192.0.2.1', '198.51.100.1', '203.0.113.9', undefined]) {
    for (const client of ['203.0.113.9', '2001:db8::9', '198.51.100.9']) {
      for (const host of ['open.example', 'office.example']) {
        const visit = { claimed, client, host }
        const said = outcomeOfWhy(visit, { snapshot, brokenSites: loaded.brokenSites })
        assert.deepEqual(said, await outcomeOfServer(Number(port), visit), JSON.stringify(visit))
      }
    }
  }
})

interface AskedVisit {
  readonly claimed: string | undefined
  readonly client: string
  readonly host: string
}

function outcomeOfWhy({ claimed, client, host }: AskedVisit, ground: Ground): Outcome {
  const addresses = { peer: '127.0.0.1', claimed, client }
  const plans = [...ground.snapshot.plans.values()].filter(({ config }) => config.name === 'edge')
  const { listeners } = explain({ host, sni: undefined, path: '/', addresses, plans }, ground)
  const [{ answer, client: known }] = listeners
  if (answer.kind === 'forward') return { status: 200, told: known?.address }
  return { status: 'status' in answer ? answer.status : undefined, told: undefined }
}

async function outcomeOfServer(port: number, { claimed, client, host }: AskedVisit): Promise<Outcome> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const end = claimed === undefined ? undefined : { address: claimed, port: 4711 }
  if (end !== undefined) socket.write(encodeProxyV2({ source: end, destination: end }))
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${host}\r\nForwarded: for="${client.includes(':') ? `[${client}]` : client}"\r\n`,
  )
  socket.write('Connection: close\r\n\r\n')
  const answer = await within(
    'the connection ends',
    text(socket).catch(() => ''),
  )
  const [, status, told] = /^HTTP\/1\.1 (\d{3}) .*?\r\n\r\n(.*)$/s.exec(answer) ?? []
  if (status === undefined) return { status: undefined, told: undefined }
  return { status: Number(status), told: status === '200' ? told : undefined }
}
