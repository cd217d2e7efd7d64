// A switch of protocols over HTTP/2 (RFC 8441): asked for only where it is offered, and a tunnel from then on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import { Failure } from '../../src/wire/failure.js'
import { until } from '../support/deadline.js'
import { settings } from '../support/http2-client.js'
import { HandSource, type RecordedAttempt, type Rig, withRig } from './rig.js'

const offering = { hello: [[Setting.enableConnectProtocol, 1]] } as const
const { endStream } = Flag

/** A tunnel on stream 1, and what the client sends through it. */
async function openTunnel(rig: Rig): Promise<{ recorded: RecordedAttempt; client: HandSource }> {
  const recorded = await rig.ask({ path: '/chat', upgrade: 'websocket' }, 1)
  rig.endpoint.respond(1, 200)
  await recorded.final()
  const client = new HandSource()
  recorded.tunnel?.carry(client)
  return { recorded, client }
}

test('an upgrade waits for SETTINGS and becomes an extended CONNECT', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask(
      { path: '/chat', upgrade: 'websocket', fields: [['sec-websocket-version', '13']] },
      1,
    )
    const head = await rig.endpoint.request(1)
    assert.deepEqual(head.fields, [
      [':method', 'CONNECT'],
      [':scheme', 'http'],
      [':authority', 'site.test'],
      [':path', '/chat'],
      [':protocol', 'websocket'],
      ['sec-websocket-version', '13'],
    ])
    assert.equal(head.flags, Flag.endHeaders)
    assert.equal(recorded.finals, 0)
  }, offering))

test('bytes pass both ways, and either end is carried on', () =>
  withRig(async (rig) => {
    const { recorded, client } = await openTunnel(rig)
    rig.endpoint.data(1, 'from the endpoint')
    client.sink.write(Buffer.from('from the client'))
    await until('both have come', () => recorded.sink.bytes === 17 && rig.endpoint.received(1).length === 15)
    client.sink.end(undefined)
    await until('the end of the client has come', () => rig.endpoint.hasEnded(1))
    rig.endpoint.data(1, ', still', endStream)
    await until('the end of the endpoint has come', () => recorded.sink.ended === 'end')
    assert.equal(recorded.sink.text, 'from the endpoint, still')
    await until('the stream has ended', () => rig.connection.active === 0)
    await rig.stillServes(3)
  }, offering))

test('an endpoint that ends first gets what the client has said so far, and the end', () =>
  withRig(async (rig) => {
    const { recorded, client } = await openTunnel(rig)
    client.sink.write(Buffer.from('last words'))
    rig.endpoint.data(1, '', endStream)
    await until('the tunnel has ended', () => recorded.sink.ended === 'end' && rig.endpoint.hasEnded(1))
    assert.equal(rig.endpoint.received(1).toString(), 'last words')
    assert.equal(client.aborted?.side, 'upstream')
    await rig.stillServes(3)
  }, offering))

test('a client that breaks off resets the stream, and a reset reaches the client', async () => {
  await withRig(async (rig) => {
    const { client, recorded } = await openTunnel(rig)
    client.sink.abort(new Failure('client_gone', 'the client left'))
    assert.equal(await rig.endpoint.resetOf(1), ErrorCode.cancel)
    assert.equal(recorded.sink.failure?.code, 'client_gone')
  }, offering)
  await withRig(async (rig) => {
    const { client, recorded } = await openTunnel(rig)
    rig.endpoint.reset(1, ErrorCode.cancel)
    await until('the tunnel breaks', () => recorded.sink.ended === 'abort')
    assert.equal(recorded.sink.failure?.code, 'upstream_reset')
    assert.equal(client.aborted?.code, 'upstream_reset')
  }, offering)
})

test('a refused switch is an answer like any other', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({ upgrade: 'websocket' }, 1)
    rig.endpoint.respond(1, 403, [['content-length', '2']])
    rig.endpoint.data(1, 'no', endStream)
    await recorded.whole()
    assert.equal(recorded.status, 403)
    assert.equal(recorded.tunnel, undefined)
    assert.equal(recorded.sink.text, 'no')
    await rig.stillServes(3)
  }, offering))

test('trailers do not exist in a tunnel', () =>
  withRig(async (rig) => {
    const { recorded } = await openTunnel(rig)
    rig.endpoint.headers(1, [['x', 'y']], endStream)
    assert.equal(await rig.endpoint.resetOf(1), ErrorCode.protocolError)
    assert.equal(recorded.sink.failure?.code, 'upstream_protocol')
  }, offering))

test('an endpoint that offers no extended CONNECT is told from one that is broken', () =>
  withRig(async (rig) => {
    for (let count = 0; count < 2; count++) {
      const recorded = rig.send({ upgrade: 'websocket' })
      await recorded.final()
      assert.equal(recorded.failure?.code, 'upstream_protocol')
      assert.match(recorded.failure?.detail ?? '', /extended CONNECT/)
    }
    await rig.stillServes(1)
  }))

test('an upgrade that still waits can be cancelled, and fails with its connection', async () => {
  await withRig(
    async (rig) => {
      const cancelled = rig.send({ upgrade: 'websocket' })
      const waiting = rig.send({ upgrade: 'websocket' })
      assert.equal(rig.connection.active, 2)
      cancelled.attempt?.cancel()
      assert.equal(rig.connection.active, 1)
      rig.endpoint.socket.destroy()
      assert.equal((await waiting.final()).failure?.retry, 'always')
      assert.equal(cancelled.finals, 0)
    },
    { hello: 'silent' },
  )
})

test('a tunnel in which nothing moves ends in time', () =>
  withRig(
    async (rig) => {
      const { recorded } = await openTunnel(rig)
      await until('the tunnel breaks', () => recorded.sink.ended === 'abort')
      assert.equal(recorded.sink.failure?.detail, 'no byte through the tunnel for 100 ms')
      assert.equal(await rig.endpoint.resetOf(1), ErrorCode.cancel)
    },
    { ...offering, timeouts: { tunnelIdleMs: 100 } },
  ))

test('an offer may not be taken back', () =>
  withRig(async (rig) => {
    rig.endpoint.send(FrameType.settings, 0, 0, settings([Setting.enableConnectProtocol, 0]))
    assert.equal(await rig.endpoint.farewell(), ErrorCode.protocolError)
  }, offering))
