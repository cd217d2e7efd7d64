// The log as operators meet it: what its lines say, and that a full disk or a reader who has gone never stops an answer.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, renameSync } from 'node:fs'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { HostwardProcess } from '../support/hostward-process.js'
import { LogFile, type LogLine } from '../support/log-file.js'
import { RunningServer } from '../support/running-server.js'
import { connectHttp1 } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'

test('a full disk stops no answer and no shutdown', { skip: !existsSync('/dev/full') }, async (t) => {
  const { running } = await start(t, {})
  running.change({ log: { file: '/dev/full' } })
  await running.server.reload()
  const client = await running.connect('site.example')
  for (let count = 0; count < 100; count++) assert.equal((await client.ask('site.example')).status, 200)
  assert.deepEqual(await running.server.reload(), [])
  assert.equal((await client.ask('site.example')).status, 200)
})

test('a standard output that nobody reads stops no answer; lines are dropped, counted, and told', async (t) => {
  const workspace = new Workspace()
  t.after(() => workspace.remove())
  workspace.write('main.yaml', await mainFor(workspace, { log: { file: null } }))
  const hostward = HostwardProcess.runFor(t, workspace)
  await workspace.log.until('it listens', () => hostward.output.includes('"event":"listening"'))
  const port = Number(hostward.outputLines.find(({ event }) => event === 'listening')?.['port'])
  hostward.blockOutput()
  const client = await connectHttp1({ port, servername: 'site.example' })
  const path = `/${'x'.repeat(16_000)}`
  const asked = 800
  for (let count = 0; count < asked; count++) assert.equal((await client.ask('site.example', path)).status, 200)
  hostward.unblockOutput()
  await workspace.log.until('the log flows again', () => hostward.output.includes('"event":"log_dropped"'))
  hostward.signal('SIGTERM')
  assert.equal(await hostward.exited(), 0)
  const lines = hostward.outputLines
  const dropped = lines.filter(({ event }) => event === 'log_dropped')
  assert.equal(dropped.length, 1)
  assert.equal(lines.filter(({ event }) => event === 'request').length + Number(dropped[0]?.['count']), asked)
})

test('a rotated log is left alone after SIGUSR2, and no line is lost', async (t) => {
  const workspace = new Workspace()
  t.after(() => workspace.remove())
  const hostward = await HostwardProcess.startFor(t, workspace, await mainFor(workspace, {}))
  const client = await hostward.connect('site.example')
  for (const turn of [1, 2, 3]) {
    await client.ask('site.example', `/${turn}/before`)
    await new LogFile(workspace.log.path).line({ target: `/${turn}/before` })
    renameSync(workspace.log.path, workspace.path(`rotated-${turn}.log`))
    await client.ask('site.example', `/${turn}/between`)
    hostward.signal('SIGUSR2')
    await workspace.log.until('the file is made anew', () => existsSync(workspace.log.path))
    await client.ask('site.example', `/${turn}/after`)
    await new LogFile(workspace.log.path).line({ target: `/${turn}/after` })
  }
  const names = ['rotated-1.log', 'rotated-2.log', 'rotated-3.log', 'hostward.log']
  const targets = names.flatMap((name) => new LogFile(workspace.path(name)).lines({ event: 'request' }))
  const told = targets.map(({ target }) => target)
  assert.deepEqual(
    told,
    [1, 2, 3].flatMap((turn) => ['before', 'between', 'after'].map((when) => `/${turn}/${when}`)),
  )
})

test('failed handshakes of one kind are one line at once, and one more for all that follow', async (t) => {
  const { running } = await start(t, {})
  for (let count = 0; count < 50; count++) await sayAndLeave(running.port(), 'GET / HTTP/1.1\r\n\r\n')
  await running.server.close()
  const lines = running.log.lines({ event: 'handshake_failed', reason: 'plain_http' })
  assert.deepEqual(
    lines.map(({ count }) => count),
    [1, 49],
  )
  const { handshakesFailed, accepted, withoutRequest } = await running.log.line({ event: 'connections' })
  assert.deepEqual(
    { handshakesFailed, accepted, withoutRequest },
    { handshakesFailed: 50, accepted: 50, withoutRequest: 0 },
  )
})

test('a connection without a byte writes no line and is counted', async (t) => {
  const { running } = await start(t, {})
  const before = running.log.lines().length
  for (let count = 0; count < 20; count++) await sayAndLeave(running.port(), '')
  const resetting = connect(running.port(), '127.0.0.1')
  await once(resetting, 'connect')
  resetting.resetAndDestroy()
  await once(resetting, 'close')
  await running.server.close()
  const lines = running.log.lines().slice(before)
  assert.deepEqual(
    lines.map(({ event }) => event),
    ['connections', 'shutdown'],
  )
  const { accepted, withoutRequest, open } = lines[0] ?? {}
  assert.deepEqual({ accepted, withoutRequest, open }, { accepted: 21, withoutRequest: 21, open: 0 })
})

test('a request line has every field of the contract', async (t) => {
  const { running } = await start(t, {})
  const client = await running.connect('site.example')
  const line = await running.log.after(() => client.ask('SITE.example:443', '/p?q=1'), { event: 'request' })
  const { time, requestId, connectionId, durationMs, peer, ...others } = line
  assert.deepEqual(others, {
    ...answered,
    target: '/p?q=1',
    tlsVersion: 'TLSv1.3',
    bytesSent: 'hello'.length,
  })
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(peer, `127.0.0.1:${client.socket.localPort}`)
  assert.ok(typeof requestId === 'string' && typeof connectionId === 'string' && typeof durationMs === 'number')
})

test('a request that cannot be parsed is one line with nulls', async (t) => {
  const { running } = await start(t, {})
  const client = await running.connect('site.example')
  const garbage = (): unknown => client.socket.write('GARBAGE\r\n\r\n')
  const { status, reason, vhost, host, method, target } = await running.log.after(garbage, { event: 'request' })
  assert.deepEqual(
    { status, reason, vhost, host, method, target },
    { status: 400, reason: 'bad_request', vhost: null, host: null, method: null, target: null },
  )
})

test('without log.query the query is cut from every target, and chosen headers are repeated', async (t) => {
  const { running } = await start(t, {
    log: { file: 'hostward.log', query: false, requestHeaders: ['CF-Ray', 'x-none'] },
  })
  const client = await running.connect('site.example')
  const head = 'GET /p?secret=1 HTTP/1.1\r\nhost: site.example\r\ncf-ray: 8a\r\nCF-RAY: 8b\r\n\r\n'
  const line = await running.log.after(() => client.socket.write(head), { event: 'request' })
  assert.deepEqual(
    { target: line['target'], headers: line['headers'] },
    { target: '/p', headers: { 'cf-ray': '8a, 8b' } },
  )
  const unknown = await running.log.after(() => client.socket.write('GET /u?secret=1 HTTP/1.1\r\nhost: x\r\n\r\n'), {
    event: 'request',
    status: 421,
  })
  assert.equal(unknown['target'], '/u')
})

const answered: LogLine = {
  level: 'info',
  event: 'request',
  msg: 'request',
  listener: 'public',
  vhost: 'site.example',
  host: 'site.example',
  sni: 'site.example',
  protocol: 'http/1.1',
  method: 'GET',
  status: 200,
  reason: 'ok',
  claimed: null,
  claimedBy: null,
  upstream: null,
  upstreamStatus: null,
  upstreamMs: null,
  generation: 1,
  bytesReceived: 0,
}

async function mainFor(workspace: Workspace, main: LogLine): Promise<LogLine> {
  const pair = await workspace.pair('site', { names: ['site.example'] })
  const vhosts = [{ hosts: ['site.example'], certificate: filesOf(pair), respond: { body: 'hello' } }]
  return { listeners: [{ name: 'public', bind: '127.0.0.1:0' }], vhosts, ...main }
}

async function start(t: TestContext, main: LogLine): Promise<{ running: RunningServer }> {
  const workspace = new Workspace()
  return { running: await RunningServer.startFor(t, await mainFor(workspace, main), workspace) }
}

/** Resolves once the server has closed too. */
async function sayAndLeave(port: number, words: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.end(words)
  socket.resume()
  await once(socket, 'close')
}
