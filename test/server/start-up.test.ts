// What a person sees at the start: a line for each listener, or a message that says what to do.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { HostwardProcess } from '../support/hostward-process.js'
import { filesOf, Workspace } from '../support/workspace.js'

test('each listener says when it accepts, and an old runtime is warned of once', async (t) => {
  const workspace = newWorkspace(t)
  const pair = await workspace.pair('site', { names: ['site.example'] })
  const listeners = [
    { name: 'public', bind: '127.0.0.1:0' },
    { name: 'plain', bind: '127.0.0.1:0', tls: false },
  ]
  const vhosts = [{ hosts: ['site.example'], certificate: filesOf(pair), respond: {} }]
  const hostward = await HostwardProcess.startFor(t, workspace, { listeners, vhosts })
  const lines = await workspace.log.all('two listeners', 2, ({ event }) => event === 'listening')
  assert.deepEqual(
    lines.map(({ listener, address, tls }) => ({ listener, address, tls })),
    [
      { listener: 'public', address: '127.0.0.1', tls: true },
      { listener: 'plain', address: '127.0.0.1', tls: false },
    ],
  )
  hostward.signal('SIGHUP')
  await workspace.log.line({ event: 'config_reloaded' })
  hostward.signal('SIGTERM')
  assert.equal(await hostward.exited(), 0)
  const warnings = workspace.log.lines({ event: 'runtime_outdated' })
  assert.equal(warnings.length, process.versions.node.startsWith('20.') ? 1 : warnings.length)
  assert.ok(warnings.length <= 1)
  assert.equal(hostward.output, '', 'the log goes where the configuration says')
})

test('a port in use is a clear message and exit 1', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const { code, errorOutput } = await startBroken(t, mainText(`127.0.0.1:${port}`))
  assert.equal(code, 1)
  assert.match(
    errorOutput,
    /main\.yaml:2:5: listener "public" cannot listen on 127\.0\.0\.1:\d+: the address is already in use/,
  )
  assert.match(errorOutput, /\n {2}hint: /)
})

test('an address of another machine is a clear message and exit 1', async (t) => {
  const { code, errorOutput } = await startBroken(t, mainText('192.0.2.1:0'))
  assert.equal(code, 1)
  assert.match(errorOutput, /main\.yaml:2:5: .*192\.0\.2\.1:0: the address is not one of this machine/)
})

test('mistakes outside the sites are told all at once, with their places, and exit 1', async (t) => {
  const { code, errorOutput, outputLines } = await startBroken(
    t,
    `${mainText('127.0.0.1:0')}timeouts: { idleMs: 0 }\nlimit: {}\n`,
  )
  assert.equal(code, 1)
  assert.match(errorOutput, /main\.yaml:4:21: /)
  assert.match(errorOutput, /main\.yaml:5:1: unknown key "limit"\n {2}hint: did you mean "limits"\?/)
  const rejected = outputLines.filter(({ event }) => event === 'config_rejected')
  assert.equal(rejected.length, 1)
})

test('invalid YAML in the main file is exit 1', async (t) => {
  const { code, errorOutput } = await startBroken(t, 'listeners: [\n')
  assert.equal(code, 1)
  assert.match(errorOutput, /main\.yaml:\d+:\d+: /)
})

test('a log file that cannot be written is a clear message and exit 1', async (t) => {
  const { code, errorOutput } = await startBroken(t, `${mainText('127.0.0.1:0')}log:\n  file: nowhere/hostward.log\n`)
  assert.equal(code, 1)
  assert.match(errorOutput, /main\.yaml:5:9: the log file .* cannot be opened/)
})

test('without a main file it is exit 1', async (t) => {
  const hostward = HostwardProcess.runFor(t, newWorkspace(t))
  assert.equal(await hostward.exited(), 1)
  assert.match(hostward.errorOutput, /main\.yaml:1:1: the configuration cannot be read: no such file/)
})

test('without a log file the log is on standard output, and nothing else is', async (t) => {
  const workspace = newWorkspace(t)
  workspace.write('main.yaml', mainText('127.0.0.1:0'))
  const hostward = HostwardProcess.runFor(t, workspace)
  await workspace.log.until('it listens', () => hostward.output.includes('"event":"listening"'))
  hostward.signal('SIGTERM')
  assert.equal(await hostward.exited(), 0)
  const events = hostward.outputLines.map(({ event }) => event).filter((event) => event !== 'runtime_outdated')
  assert.deepEqual(events, ['listening', 'connections', 'shutdown'])
  assert.equal(hostward.errorOutput, '')
})

function mainText(bind: string): string {
  return `listeners:\n  - name: public\n    bind: "${bind}"\n`
}

async function startBroken(t: TestContext, main: string) {
  const workspace = newWorkspace(t)
  workspace.write('main.yaml', main)
  const hostward = HostwardProcess.runFor(t, workspace)
  const code = await hostward.exited()
  assert.doesNotMatch(hostward.errorOutput, /\n {4}at /, 'never a stack trace')
  return { code, errorOutput: hostward.errorOutput, outputLines: hostward.outputLines }
}

function newWorkspace(t: TestContext): Workspace {
  const workspace = new Workspace()
  t.after(() => workspace.remove())
  return workspace
}
