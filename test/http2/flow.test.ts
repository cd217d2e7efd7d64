// Bodies both ways under flow control: what waits is bounded, and nobody waits for a neighbour.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, readUint32, Setting } from '../../src/http2/frames.js'
import type { BodySource } from '../../src/wire/body.js'
import type { Downstream } from '../../src/wire/downstream.js'
import { Failure } from '../../src/wire/failure.js'
import { type RawClient, requestFields, settings, uint32 } from '../support/http2-client.js'
import { answerHello, ChunkSource, CountingSink, fieldsOf, withServer } from './harness.js'

const { endStream } = Flag
const head = { status: 200, reason: '', headers: fieldsOf() }

function chunksOf(count: number, bytes: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.alloc(bytes, index))
}

function bytesOn(client: RawClient, streamId: number): number {
  return client.frames.reduce(
    (sum, one) => sum + (one.type === FrameType.data && one.streamId === streamId ? one.payload.length : 0),
    0,
  )
}

/** What the server gave back on a stream. */
function creditOn(client: RawClient, streamId: number): number {
  const updates = client.frames.filter((one) => one.type === FrameType.windowUpdate && one.streamId === streamId)
  return updates.reduce((sum, one) => sum + readUint32(one.payload, 0), 0)
}

/** Sends a body as fast as the windows allow. */
async function upload(client: RawClient, streamId: number, bytes: number): Promise<void> {
  let sent = 0
  while (sent < bytes) {
    const size = Math.min(16_384, bytes - sent)
    const fits = () => sent + size <= 65_535 + creditOn(client, streamId) || undefined
    await client.until(fits, `room on stream ${streamId} behind ${sent} bytes`)
    sent += size
    client.data(streamId, Buffer.alloc(size), sent === bytes ? endStream : 0)
  }
}

test('an upload larger than every window passes, and its window grows', () => {
  const sink = new CountingSink()
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'POST'), 0)
      await upload(client, 1, 8 * 1024 * 1024)
      await client.until(() => sink.ended === 'end' || undefined, 'the end of the body')
      assert.equal(sink.bytes, 8 * 1024 * 1024)
      const largest = Math.max(
        ...client.frames.map((one) =>
          one.type === FrameType.windowUpdate && one.streamId === 1 ? readUint32(one.payload, 0) : 0,
        ),
      )
      assert.ok(largest >= 512 * 1024, `the largest increment was ${largest}`)
    },
    (downstream) => downstream.request.body?.flow(sink),
  )
})

test('a sink that is full stops its own stream after one window, and no other', () => {
  const [stalled, running] = [new CountingSink(), new CountingSink()]
  stalled.isFull = true
  const bodies: (BodySource | undefined)[] = []
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'POST'), 0)
      client.data(1, Buffer.alloc(16_384))
      for (let sent = 16_384; sent + 16_383 <= 65_535; sent += 16_383) client.data(1, Buffer.alloc(16_383))
      client.headers(3, requestFields([], 'POST'), 0)
      await upload(client, 3, 6 * 1024 * 1024)
      await client.until(() => running.ended === 'end' || undefined, 'the other body')
      assert.equal(creditOn(client, 1), 0)
      bodies[0]?.resume()
      await client.until(() => creditOn(client, 1) > 0 || undefined, 'room on the stalled stream')
    },
    (downstream) => {
      bodies.push(downstream.request.body)
      downstream.request.body?.flow(bodies.length === 1 ? stalled : running)
    },
  )
})

test('what comes before the handler asks for it waits, and comes in order', () => {
  const exchanges: Downstream[] = []
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'POST'), 0)
      client.data(1, 'one ')
      client.data(1, 'two')
      client.headers(1, [['x-trailer', 'yes']])
      await client.ping()
      exchanges[0]?.respond(head, exchanges[0].request.body)
      const answer = await client.answer(1)
      assert.equal(answer.body.toString(), 'one two')
      assert.deepEqual(answer.trailers, [['x-trailer', 'yes']])
    },
    (downstream) => exchanges.push(downstream),
  )
})

test('a stream without a window waits, its neighbours do not, and not a byte more is sent than allowed', () =>
  withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 10]])
      client.creditsWindows = false
      client.headers(1, requestFields([], 'GET', '/large'))
      client.headers(3, requestFields())
      await client.answer(3)
      await client.ping()
      assert.equal(bytesOn(client, 1), 10)
      client.send(FrameType.windowUpdate, 0, 1, uint32(5))
      await client.until(() => bytesOn(client, 1) === 15 || undefined, 'five bytes more')
      // RFC 9113 §6.9.2: the window goes below zero, and must be paid back first.
      client.send(FrameType.settings, 0, 0, settings([Setting.initialWindowSize, 0]))
      client.send(FrameType.windowUpdate, 0, 1, uint32(10))
      await client.ping()
      assert.equal(bytesOn(client, 1), 15)
      client.send(FrameType.windowUpdate, 0, 1, uint32(3))
      await client.until(() => bytesOn(client, 1) === 18 || undefined, 'three bytes more')
    },
    (downstream) => {
      if (downstream.request.target === '/large') downstream.respond(head, new ChunkSource(chunksOf(10, 1000)))
      else answerHello(downstream)
    },
  ))

test('the connection window bounds all streams together', () =>
  withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 1_000_000]])
      client.creditsWindows = false
      client.headers(1, requestFields())
      client.headers(3, requestFields())
      const total = () => bytesOn(client, 1) + bytesOn(client, 3)
      await client.until(() => total() === 65_535 || undefined, 'a whole connection window')
      await client.ping()
      assert.equal(total(), 65_535)
      client.send(FrameType.windowUpdate, 0, 0, uint32(1_000_000))
      await client.answer(1)
      await client.answer(3)
      assert.equal(total(), 200_000)
    },
    (downstream) => downstream.respond(head, new ChunkSource(chunksOf(10, 10_000))),
  ))

test('a client that does not read stops the sources at a bound', () => {
  const sources: ChunkSource[] = []
  return withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 0x7fffffff]])
      client.send(FrameType.windowUpdate, 0, 0, uint32(0x7fff0000))
      client.creditsWindows = false
      client.headers(1, requestFields())
      client.headers(3, requestFields())
      await client.until(() => (bytesOn(client, 1) > 0 && bytesOn(client, 3) > 0) || undefined, 'the first bytes')
      client.socket.pause()
      let before = -1
      while (before !== sources[0]?.given) {
        before = sources[0]?.given ?? 0
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      const [first, second] = server.connections[0] === undefined ? [] : [...server.connections[0].streams.all()]
      assert.ok(first !== undefined && second !== undefined)
      assert.ok(first.queuedBytes + second.queuedBytes <= 2 * (128 + 64) * 1024)
      client.socket.resume()
      assert.equal((await client.answer(1)).body.length, 64 * 1024 * 512)
    },
    (downstream) => {
      const source = new ChunkSource(repeat(Buffer.alloc(64 * 1024), 512))
      sources.push(source)
      downstream.respond(head, source)
    },
  )
})

function* repeat(chunk: Buffer, count: number): Generator<Buffer> {
  for (let index = 0; index < count; index++) yield chunk
}

test('large answers take turns, and the urgent one gets more of them', () =>
  withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 10_000_000]])
      client.send(FrameType.windowUpdate, 0, 0, uint32(10_000_000))
      client.headers(1, requestFields([['priority', 'u=5']]))
      client.headers(3, requestFields())
      client.headers(5, requestFields([['priority', 'u=0, i']]))
      for (const id of [1, 3, 5]) await client.answer(id)
      const order = client.frames.filter((one) => one.type === FrameType.data && one.payload.length > 0)
      const turns = order.slice(0, 21).map((one) => one.streamId)
      const count = (id: number) => turns.filter((one) => one === id).length
      assert.ok(count(5) > count(3) && count(3) > count(1) && count(1) > 0, turns.join(' '))
    },
    (downstream) => downstream.respond(head, new ChunkSource(repeat(Buffer.alloc(64 * 1024), 20))),
  ))

const brokenSources: readonly (readonly [story: string, code: number, source: () => BodySource])[] = [
  ['shorter than announced', ErrorCode.internalError, () => new ChunkSource([Buffer.from('abc')], { lengthBytes: 5 })],
  [
    'longer than announced',
    ErrorCode.internalError,
    () => new ChunkSource([Buffer.from('abcdef')], { lengthBytes: 5 }),
  ],
  ['that breaks off', ErrorCode.internalError, () => new BreakingSource(new Failure('upstream_reset', 'gone'))],
  ['that its client stalled', ErrorCode.cancel, () => new BreakingSource(new Failure('client_stalled', 'slow'))],
]

/** Three bytes, then a failure. */
class BreakingSource implements BodySource {
  readonly lengthBytes = -1
  readonly #failure: Failure

  constructor(failure: Failure) {
    this.#failure = failure
  }

  flow(sink: Parameters<BodySource['flow']>[0]): void {
    sink.write(Buffer.from('abc'))
    setImmediate(() => sink.abort(this.#failure))
  }

  resume(): void {}

  abort(): void {}
}

for (const [story, code, source] of brokenSources) {
  test(`an answer ${story} ends with a reset, never as a whole one`, () =>
    withServer(
      async (server) => {
        const client = await server.client()
        client.headers(1, requestFields())
        assert.equal(await client.resetOf(1), code)
        await client.ping()
        assert.equal(
          client.frames.some((one) => one.type === FrameType.data && one.flags & endStream),
          false,
        )
        assert.equal(server.ends.length, 1)
        assert.notEqual(server.ends[0], 'sent')
      },
      (downstream) => downstream.respond(head, source()),
    ))
}

test('a reset by the handler, before and behind the head, is one the client sees', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields())
      assert.equal(await client.resetOf(1), ErrorCode.internalError)
      client.headers(3, requestFields([], 'GET', '/head'))
      assert.equal(await client.resetOf(3), ErrorCode.internalError)
      assert.deepEqual(server.ends, ['upstream_reset', 'upstream_reset'])
    },
    (downstream) => {
      if (downstream.request.target === '/head')
        downstream.respond(head, new BreakingSource(new Failure('shutdown', '')))
      downstream.reset(new Failure('upstream_reset', 'it died'))
    },
  ))

for (const way of ['resets the stream', 'drops the connection'] as const) {
  test(`a client that ${way} ends both bodies at once`, () => {
    const sink = new CountingSink()
    const source = new ChunkSource(repeat(Buffer.alloc(16_384), 10_000))
    return withServer(
      async (server) => {
        const client = await server.client()
        const other = await server.client()
        client.headers(1, requestFields([], 'POST'), 0)
        client.data(1, 'part')
        await client.until(() => bytesOn(client, 1) > 0 || undefined, 'the first bytes')
        if (way === 'resets the stream') client.send(FrameType.rstStream, 0, 1, uint32(ErrorCode.cancel))
        else client.close()
        await other.until(() => source.aborted, 'the end of the source')
        assert.equal(source.aborted?.code, 'client_gone')
        assert.equal(sink.failure?.code, 'client_gone')
        assert.deepEqual(server.ends, ['client_gone'])
        assert.equal(server.connections[0]?.streams.size, 0)
      },
      (downstream) => {
        downstream.request.body?.flow(sink)
        downstream.respond(head, source)
      },
    )
  })
}
