// SIGTERM: nothing new is taken, what is in flight ends whole, and the process leaves with 0 before its deadline.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { HostwardProcess } from '../support/hostward-process.js'
import { answering, response, ScriptedUpstream } from '../support/scripted-upstream.js'
import { type Answer, type WireConnection, wires } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'

for (const wire of wires) {
  for (const signal of wire.name === 'h2' ? (['SIGTERM'] as const) : (['SIGTERM', 'SIGINT'] as const)) {
    test(`${signal} lets a request on ${wire.name} end whole, refuses new connections and closes idle ones`, async (t) => {
      const { hostward, upstream, idle, busy, answer, port } = await start(t, { wire, shutdownMs: 60_000 })
      hostward.signal(signal)
      await idle.ended()
      const [error] = await once(connect(port, '127.0.0.1'), 'error')
      assert.equal(error.code, 'ECONNREFUSED')
      upstream.connections.at(-1)?.socket.write(response('whole'))
      assert.deepEqual(await answer, { status: 200, body: 'whole', isLast: true })
      await busy.ended()
      assert.equal(await hostward.exited(), 0)
      const lines = hostward.workspace.log.lines()
      assert.deepEqual(
        lines.slice(-2).map(({ event }) => event),
        ['connections', 'shutdown'],
      )
      const { listener, accepted, open, handshakesFailed, withoutRequest } = lines.at(-2) ?? {}
      assert.deepEqual(
        { listener, accepted, open, handshakesFailed, withoutRequest },
        { listener: 'public', accepted: 2, open: 0, handshakesFailed: 0, withoutRequest: 0 },
      )
      assert.equal(hostward.errorOutput, '')
    })
  }

  test(`a request on ${wire.name} that does not end is ended at timeouts.shutdownMs, and the exit is still 0`, async (t) => {
    const { hostward, answer } = await start(t, { wire, shutdownMs: 200 })
    const outcome = answer.then(
      () => 'answered',
      () => 'broken',
    )
    hostward.signal('SIGTERM')
    assert.equal(await outcome, 'broken')
    assert.equal(await hostward.exited(), 0)
    const { reason, status } = await hostward.workspace.log.line({ event: 'request', target: '/busy' })
    assert.deepEqual({ reason, status }, { reason: 'shutdown', status: null })
  })
}

test('a second signal does not wait', async (t) => {
  const { hostward, idle, answer } = await start(t, { wire: wires[0], shutdownMs: 60_000 })
  answer.catch(() => undefined)
  hostward.signal('SIGTERM')
  await idle.ended()
  hostward.signal('SIGTERM')
  assert.equal(await hostward.exited(), 1)
})

interface Started {
  readonly hostward: HostwardProcess
  readonly upstream: ScriptedUpstream
  readonly port: number
  /** Has been answered, and asks for nothing more. */
  readonly idle: WireConnection
  /** Its request has reached the upstream, which says nothing. */
  readonly busy: WireConnection
  readonly answer: Promise<Answer>
}

async function start(
  t: TestContext,
  what: { wire: (typeof wires)[number] | undefined; shutdownMs: number },
): Promise<Started> {
  const workspace = new Workspace()
  t.after(() => workspace.remove())
  const upstream = await new ScriptedUpstream(answering(response('idle'))).open()
  t.after(() => upstream.close())
  const pair = await workspace.pair('site', { names: ['site.example'] })
  const vhosts = [
    { hosts: ['site.example'], certificate: filesOf(pair), upstream: `http://127.0.0.1:${upstream.port}` },
  ]
  const hostward = await HostwardProcess.startFor(t, workspace, { vhosts, timeouts: { shutdownMs: what.shutdownMs } })
  const port = await hostward.port()
  assert.ok(what.wire)
  const idle = await what.wire.connect({ port, servername: 'site.example' })
  assert.equal((await idle.ask('site.example')).body, 'idle')
  upstream.script = () => undefined
  const busy = await what.wire.connect({ port, servername: 'site.example' })
  const answer = busy.ask('site.example', '/busy')
  // What fails before somebody waits for it is looked at by the test in the end.
  answer.catch(() => undefined)
  await upstream.receives(/GET \/busy [\s\S]*\r\n\r\n/)
  t.after(() => {
    idle.close()
    busy.close()
  })
  return { hostward, upstream, port, idle, busy, answer }
}
