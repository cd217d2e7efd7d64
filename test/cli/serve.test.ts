import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type Line, ServedProgram } from './served-program.js'
import { finished, Workspace } from './workspace.js'

function plainSite(port: number): string {
  return `listeners: [{ name: plain, bind: "127.0.0.1:${port}", tls: false }]
vhosts:
  - hosts: [a.example]
    listeners: [plain]
    respond: { body: "hello\\n" }
`
}

function linesOf(stdout: string): readonly Line[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

function servedIn(context: TestContext, config: string): ServedProgram {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', config)
  return new ServedProgram(context, workspace)
}

function placesOf(errors: unknown): readonly string[] {
  return (errors as readonly { line: number; column: number }[]).map(({ line, column }) => `${line}:${column}`)
}

test('a first configuration with mistakes is told on standard error, logged as JSON, and exit 1', async (context) => {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', plainSite(0).replace('vhosts:', 'timeouts: { idleMs: 0 }\nvhosst:'))
  const { code, stdout, stderr } = await workspace.run('serve')
  assert.equal(
    stderr,
    `config/hostward.yaml:2:21: idleMs must be a whole number from 1 to 86400000, not 0
config/hostward.yaml:3:1: unknown key "vhosst"
  hint: did you mean "vhosts"?
`,
  )
  const rejected = linesOf(stdout).filter(({ event }) => event === 'config_rejected')
  const facts = rejected.map(({ level, errors }) => ({ level, places: placesOf(errors) }))
  assert.deepEqual(facts, [{ level: 'error', places: ['2:21', '3:1'] }])
  assert.ok(!linesOf(stdout).some(({ event }) => event === 'listening'))
  assert.equal(code, 1)
})

test('a port in use is a clear message and exit 1', async (context) => {
  const holder = createServer().listen(0, '127.0.0.1')
  context.after(() => holder.close())
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', plainSite(port))
  const { code, stdout, stderr } = await workspace.run('serve')
  assert.match(stderr, new RegExp(`^config/hostward\\.yaml:1:13: .*127\\.0\\.0\\.1:${port}.*in use`))
  assert.doesNotMatch(stderr, /\n {4}at /)
  assert.equal(linesOf(stdout).filter(({ event }) => event === 'config_rejected').length, 1)
  assert.equal(code, 1)
})

test('a site that is broken at the start is logged as such and the others are served', async (context) => {
  const server = servedIn(context, `${plainSite(0)}  - hosts: [b.example]\n    listeners: [plain]\n`)
  const degraded = await server.logged('site_degraded')
  assert.deepEqual([degraded['vhost'], degraded['serves'], degraded.level], ['b.example', 'closed', 'error'])
  await server.logged('listening')
})

test('under --strict a site that is broken at the start ends it with exit 1 and its place, before it listens', async (context) => {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', `${plainSite(0)}  - { hosts: [b.example], listeners: [plain] }\n`)
  const { code, stdout, stderr } = await workspace.run('serve', '--strict')
  assert.match(stderr, /^config\/hostward\.yaml:6:5: /)
  assert.ok(!linesOf(stdout).some(({ event }) => event === 'listening'), 'it never listened')
  assert.deepEqual(placesOf(linesOf(stdout).find(({ event }) => event === 'config_rejected')?.['errors']), ['6:5'])
  assert.equal(code, 1)
})

test('under --strict a site that breaks later keeps its last good version', async (context) => {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', plainSite(0))
  const server = new ServedProgram(context, workspace, ['--strict'])
  await server.logged('listening')
  workspace.write('config/hostward.yaml', plainSite(0).replace('respond:', 'respnod:'))
  const { serves } = await server.logged('site_degraded')
  assert.equal(serves, 'last_good')
  server.process.kill('SIGTERM')
  assert.equal(await server.ended(), 0)
})

test('under --strict a configuration without a mistake is served', async (context) => {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', plainSite(0))
  const server = new ServedProgram(context, workspace, ['--strict'])
  await server.logged('listening')
  server.process.kill('SIGTERM')
  assert.equal(await server.ended(), 0)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} ends the server with exit 0, and a shutdown line is the last of a log that is JSON alone`, async (context) => {
    const server = servedIn(context, plainSite(0))
    const { port, listener } = await server.logged('listening')
    assert.ok(Number(port) > 0)
    assert.equal(listener, 'plain')
    server.process.kill(signal)
    assert.equal(await server.ended(), 0)
    assert.equal(server.lines.at(-1)?.event, 'shutdown')
    assert.equal(server.stderr, '')
  })
}

test('SIGHUP reads the configuration again', async (context) => {
  const server = servedIn(context, `${plainSite(0)}reload: { watch: false }\n`)
  await server.logged('listening')
  server.workspace.write(
    'config/hostward.yaml',
    `${plainSite(0).replace('a.example', 'b.example')}reload: { watch: false }\n`,
  )
  server.process.kill('SIGHUP')
  const { added, removed } = await server.logged('config_reloaded')
  assert.deepEqual({ added, removed }, { added: 1, removed: 1 })
  server.process.kill('SIGTERM')
  assert.equal(await server.ended(), 0)
})

test('SIGUSR2 does not end the server', async (context) => {
  const server = servedIn(context, plainSite(0))
  await server.logged('listening')
  server.process.kill('SIGUSR2')
  server.process.kill('SIGHUP')
  await server.logged('config_reloaded')
  server.process.kill('SIGTERM')
  assert.equal(await server.ended(), 0)
})

test('an unknown option of serve starts nothing', async (context) => {
  const { code, stdout } = await finished(new Workspace(context).start(['serve', '--port', '1']))
  assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
})
