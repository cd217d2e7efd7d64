// Extended CONNECT (RFC 8441): a request that wants to become a tunnel. Malformed ones stand in malformed.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RespondAction } from '../../src/http/routing.js'
import { ErrorCode, Flag, FrameType, readUint32, Setting } from '../../src/http2/frames.js'
import type { BodySink, BodySource } from '../../src/wire/body.js'
import type { Downstream } from '../../src/wire/downstream.js'
import { Failure } from '../../src/wire/failure.js'
import { Field } from '../../src/wire/field-names.js'
import { Gateway, redirectTo, respondWith } from '../support/gateway.js'
import { type Pair, RawClient, requestFields } from '../support/http2-client.js'
import { answerHello, CountingSink, fieldsOf, withServer } from './harness.js'

const { endStream } = Flag

function connectFields(protocol = 'websocket', authority = 'site.test'): Pair[] {
  return [
    [':method', 'CONNECT'],
    [':protocol', protocol],
    [':scheme', 'https'],
    [':authority', authority],
    [':path', '/chat?room=1'],
  ]
}

/** The endpoint's end of a tunnel, driven by a test. */
class TunnelSource implements BodySource {
  readonly lengthBytes = -1
  sink: BodySink | undefined
  aborted: Failure | undefined

  flow(sink: BodySink): void {
    this.sink = sink
  }

  resume(): void {}

  abort(failure: Failure): void {
    this.aborted = failure
  }
}

/** Opens a tunnel for every extended CONNECT, and answers everything else. */
class Tunnels {
  readonly source = new TunnelSource()
  readonly sink = new CountingSink()
  downstream: Downstream | undefined

  readonly handle = (downstream: Downstream): void => {
    if (downstream.request.upgrade === undefined) return answerHello(downstream)
    this.downstream = downstream
  }

  open(): void {
    const headers = fieldsOf(['sec-websocket-protocol', 'chat'])
    headers.bytes = Buffer.from('content-length: 0\r\n')
    headers.push(0, 14, 16, 17, 19, Field.contentLength)
    this.downstream?.switchProtocols({ status: 101, reason: '', headers }, this.source).flow(this.sink)
  }
}

async function openTunnel(client: RawClient, tunnels: Tunnels, flags = 0): Promise<void> {
  client.headers(1, connectFields(), flags)
  await client.until(() => tunnels.downstream, 'the request')
  tunnels.open()
  await client.frame((one) => one.streamId === 1 && one.type === FrameType.headers, 'the head')
}

test('it is announced, and reaches the handler as a CONNECT that asks for a protocol and has no body', () => {
  const tunnels = new Tunnels()
  return withServer(async (server) => {
    const client = await server.client()
    client.headers(1, connectFields('WebSocket'), 0)
    const request = (await client.until(() => tunnels.downstream, 'the request')).request
    assert.equal(request.upgrade, 'websocket')
    assert.equal(request.body, undefined)
    const seen = server.seen[0]
    assert.deepEqual([seen?.method, seen?.target, seen?.authority], ['CONNECT', '/chat?room=1', 'site.test'])
    const settings = client.frames[0]?.payload ?? Buffer.alloc(0)
    const ids = Array.from({ length: settings.length / 6 }, (_, at) => settings.readUInt16BE(at * 6))
    assert.equal(readUint32(settings, ids.indexOf(Setting.enableConnectProtocol) * 6 + 2), 1)
  }, tunnels.handle)
})

test('a tunnel begins with 200, carries bytes both ways, and each side may end its own', () => {
  const tunnels = new Tunnels()
  return withServer(async (server) => {
    const client = await server.client()
    client.headers(1, connectFields(), 0)
    client.data(1, 'early ')
    await client.until(() => tunnels.downstream, 'the request')
    await client.ping()
    tunnels.open()
    const head = await client.frame((one) => one.type === FrameType.headers, 'the head')
    assert.deepEqual(head.fields, [
      [':status', '200'],
      ['sec-websocket-protocol', 'chat'],
    ])
    tunnels.source.sink?.write(Buffer.from('from the endpoint'))
    client.data(1, 'and late', endStream)
    await client.until(() => tunnels.sink.ended === 'end' || undefined, "the end of the client's side")
    assert.equal(tunnels.sink.bytes, 'early and late'.length)
    assert.deepEqual(server.ends, [])
    tunnels.source.sink?.write(Buffer.from(', still'))
    tunnels.source.sink?.end(undefined)
    assert.equal((await client.answer(1)).body.toString(), 'from the endpoint, still')
    assert.deepEqual(server.ends, ['sent'])
    assert.equal(
      client.frames.some((one) => one.type === FrameType.rstStream),
      false,
    )
    await client.stillServes(3)
  }, tunnels.handle)
})

test('a tunnel whose client has nothing to say ends its side at once', () => {
  const tunnels = new Tunnels()
  return withServer(async (server) => {
    const client = await server.client()
    await openTunnel(client, tunnels, endStream)
    assert.equal(tunnels.sink.ended, 'end')
    tunnels.source.sink?.end(undefined)
    await client.answer(1)
  }, tunnels.handle)
})

test('the end of the endpoint ends the tunnel, and what the client still sends is not wanted', () => {
  const tunnels = new Tunnels()
  return withServer(async (server) => {
    const client = await server.client()
    await openTunnel(client, tunnels)
    tunnels.source.sink?.end(undefined)
    await client.answer(1)
    assert.equal(await client.resetOf(1), ErrorCode.noError)
    assert.equal(tunnels.sink.ended, 'abort')
    client.data(1, 'too late')
    await client.stillServes(3)
    assert.deepEqual(server.ends, ['sent', 'sent'])
  }, tunnels.handle)
})

test('an endpoint that breaks off resets the tunnel', () => {
  const tunnels = new Tunnels()
  return withServer(async (server) => {
    const client = await server.client()
    await openTunnel(client, tunnels)
    tunnels.source.sink?.abort(new Failure('upstream_reset', 'gone'))
    assert.equal(await client.resetOf(1), ErrorCode.internalError)
    await client.stillServes(3)
  }, tunnels.handle)
})

test('a client that resets its tunnel ends both directions', () => {
  const tunnels = new Tunnels()
  return withServer(async (server) => {
    const client = await server.client()
    await openTunnel(client, tunnels)
    client.send(FrameType.rstStream, 0, 1, Buffer.from([0, 0, 0, 8]))
    await client.until(() => tunnels.source.aborted, 'the end of the tunnel')
    assert.equal(tunnels.source.aborted?.code, 'client_gone')
    assert.equal(tunnels.sink.failure?.code, 'client_gone')
    await client.stillServes(3)
  }, tunnels.handle)
})

test('a tunnel that is switched behind the end of its stream aborts the endpoint', () => {
  const tunnels = new Tunnels()
  return withServer(async (server) => {
    const client = await server.client()
    client.headers(1, connectFields(), 0)
    await client.until(() => tunnels.downstream, 'the request')
    client.send(FrameType.rstStream, 0, 1, Buffer.from([0, 0, 0, 8]))
    await client.ping()
    tunnels.open()
    assert.equal(tunnels.source.aborted?.code, 'client_gone')
    assert.equal(tunnels.sink.failure?.code, 'client_gone')
    await client.stillServes(3)
  }, tunnels.handle)
})

test('RFC 9113 §8.5 HEADERS in a tunnel reset it', () => {
  const tunnels = new Tunnels()
  return withServer(async (server) => {
    const client = await server.client()
    await openTunnel(client, tunnels)
    client.headers(1, [['x-trailer', 'y']])
    assert.equal(await client.resetOf(1), ErrorCode.protocolError)
    assert.equal(tunnels.sink.ended, 'abort')
    assert.equal(tunnels.source.aborted?.code, 'bad_body')
    await client.stillServes(3)
  }, tunnels.handle)
})

test('a quiet tunnel, and one that waits for its endpoint, outlive an upload that stands still', () => {
  const tunnels = new Tunnels()
  return withServer(
    async (server) => {
      const client = await server.client()
      await openTunnel(client, tunnels)
      client.headers(3, connectFields(), 0)
      client.headers(5, requestFields([], 'POST'), 0)
      await client.resetOf(5)
      client.data(1, 'still there')
      await client.until(() => tunnels.sink.bytes > 0 || undefined, 'bytes in the tunnel')
      assert.deepEqual(server.ends, ['request_timeout'])
    },
    (downstream) => {
      if (downstream.request.method === 'POST') downstream.request.body?.flow(new CountingSink())
      else tunnels.handle(downstream)
    },
    { timeouts: { bodyIdleMs: 200 } },
  )
})

test('a client that takes nothing of what its tunnel brings is cut', () => {
  const tunnels = new Tunnels()
  return withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 0]])
      await openTunnel(client, tunnels)
      tunnels.source.sink?.write(Buffer.from('unread'))
      assert.equal(await client.resetOf(1), ErrorCode.cancel)
      assert.deepEqual(server.ends, ['client_stalled'])
    },
    tunnels.handle,
    { timeouts: { bodyIdleMs: 200 } },
  )
})

const answersOfSites: readonly (readonly [host: string, status: string])[] = [
  ['fixed.example', '503'],
  ['moved.example', '308'],
  ['nobody.example', '421'],
]

test('a site that answers by itself answers an extended CONNECT', async () => {
  const fixed = { ...(respondWith('closed') as RespondAction), status: 503 }
  const sites = { 'fixed.example': fixed, 'moved.example': redirectTo('https://x') } as const
  const gateway = await new Gateway({ sites, protocol: 'h2' }).open()
  const client = await RawClient.open(gateway.port)
  try {
    for (const [index, [host, status]] of answersOfSites.entries()) {
      client.headers(index * 2 + 1, connectFields('websocket', host), 0)
      assert.equal((await client.answer(index * 2 + 1)).status, status)
      assert.equal(await client.resetOf(index * 2 + 1), ErrorCode.noError)
    }
    assert.deepEqual(
      gateway.entries.map(({ method, status }) => `${method} ${status}`),
      ['CONNECT 503', 'CONNECT 308', 'CONNECT 421'],
    )
  } finally {
    client.close()
    await gateway.close()
  }
})
