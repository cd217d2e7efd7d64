// What `why` says, against what the server does with the same files.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { explain } from '../../src/cli/explanation.js'
import { inspect } from '../../src/cli/inspection.js'
import { within } from '../support/deadline.js'
import { ServedProgram } from './served-program.js'
import { Workspace } from './workspace.js'

const fallback = 'fallbackCertificate: { cert: ../certs/default.pem, key: ../certs/default.key }\n'
const sites = `listeners: [{ name: public, bind: "127.0.0.1:0" }]
vhosts:
  - hosts: [a.example, "*.a.example"]
    certificate: { cert: ../certs/a.pem, key: ../certs/a.key }
    respond: { status: 201 }
  - hosts: [b.example]
    certificate: { cert: ../certs/b.pem, key: ../certs/b.key }
    redirect: { to: "https://a.example", status: 302 }
  - hosts: [broken.example]
    respond: {}
`

const names = ['a.example', 'x.a.example', 'x.y.a.example', 'b.example', 'broken.example', 'nobody.example']
const pairs = names.flatMap((host) =>
  ['', 'a.example', 'x.a.example', 'b.example', 'nobody.example'].map((sni) => ({ host, sni })),
)

interface Verdict {
  /** SHA-256 of the certificate; undefined where the handshake was refused. */
  readonly certificate: string | undefined
  /** Undefined where no request was read. */
  readonly status: number | undefined
}

for (const [title, main] of [
  ['with a fallback certificate', fallback + sites],
  ['without a fallback certificate', sites],
] as const) {
  test(`why says what the server does, ${title}`, async (context) => {
    const workspace = await workspaceOf(context, main)
    const server = new ServedProgram(context, workspace)
    const { port } = await server.logged('listening')
    for (const pair of pairs) {
      const said = await verdictOfWhy(join(workspace.directory, 'config/hostward.yaml'), pair)
      assert.deepEqual(said, await verdictOfServer(Number(port), pair), JSON.stringify(pair))
    }
  })
}

async function workspaceOf(context: TestContext, main: string): Promise<Workspace> {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', main)
  for (const name of ['default', 'a', 'b']) await workspace.certificate(name, { names: [`${name}.example`] })
  return workspace
}

async function verdictOfWhy(main: string, { host, sni }: { host: string; sni: string }): Promise<Verdict> {
  const { snapshot, loaded } = await inspect(main)
  assert.ok(snapshot)
  const question = { host, sni, path: '/', addresses: undefined, plans: [...snapshot.plans.values()] }
  const [{ certificate, answer }] = explain(question, { snapshot, brokenSites: loaded.brokenSites }).listeners
  const file = certificate?.file ?? undefined
  return {
    certificate: file && new X509Certificate(readFileSync(file)).fingerprint256,
    status: 'status' in answer ? answer.status : undefined,
  }
}

async function verdictOfServer(port: number, { host, sni }: { host: string; sni: string }): Promise<Verdict> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...(sni === '' ? {} : { servername: sni }),
  })
  try {
    await within('the handshake ends', once(socket, 'secureConnect'))
  } catch {
    return { certificate: undefined, status: undefined }
  }
  const certificate = socket.getPeerX509Certificate()?.fingerprint256
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(await within('the answer ends', text(socket)))?.[1]
  return { certificate, status: Number(status) }
}
