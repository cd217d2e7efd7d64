// Slow read and slow POST over HTTP/2: a byte now and then keeps nobody waiting for ever, and slow is not yet hostile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setInterval } from 'node:timers/promises'
import { ErrorCode, FrameType, Setting } from '../../src/http2/frames.js'
import type { Downstream } from '../../src/wire/downstream.js'
import { type RawClient, requestFields, uint32 } from '../support/http2-client.js'
import { answerHello, ChunkSource, CountingSink, fieldsOf, withServer } from './harness.js'

const head = { status: 200, reason: '', headers: fieldsOf() }
const betweenBytesMs = 50
/** What nobody reaches byte by byte, over a time that is soon over. */
const strict = { limits: { bodyBytesPerSecondMin: 100_000 }, timeouts: { bodyIdleMs: 300 } }
/** What everybody reaches, and an idle time that a busy machine does not exceed between two bytes. */
const patient = { limits: { bodyBytesPerSecondMin: 1 }, timeouts: { bodyIdleMs: 2_000 } }

/** Does something again and again until it is told that this is enough. */
async function repeatedly(act: () => void, isEnough: () => boolean): Promise<void> {
  for await (const _ of setInterval(betweenBytesMs)) {
    if (isEnough()) return
    act()
  }
}

function wasReset(client: RawClient, streamId: number): boolean {
  return client.frames.some((one) => one.type === FrameType.rstStream && one.streamId === streamId)
}

function openWindow(client: RawClient, streamId: number, bytes: number): void {
  client.send(FrameType.windowUpdate, 0, streamId, uint32(bytes))
}

function answerLarge(downstream: Downstream): void {
  if (downstream.request.method === 'HEAD') return downstream.respond(head, undefined)
  downstream.respond(head, new ChunkSource([Buffer.alloc(16_384)]))
}

for (const streamId of [0, 1]) {
  const whose = streamId === 0 ? 'of the connection' : 'of its stream'
  test(`a reader that opens the window ${whose} byte by byte is cut, and the connection goes on`, () =>
    withServer(
      async (server) => {
        const client = await server.client([[Setting.initialWindowSize, streamId === 0 ? 1_000_000 : 0]])
        client.creditsWindows = false
        if (streamId === 0) {
          // Uses up what the connection begins with.
          for (const id of [3, 5, 7, 9]) client.headers(id, requestFields())
          await client.until(
            () => client.frames.filter(({ type }) => type === FrameType.data).length >= 4 || undefined,
            'data',
          )
        }
        client.headers(11, requestFields())
        await repeatedly(
          () => openWindow(client, streamId === 0 ? 0 : 11, 1),
          () => wasReset(client, 11),
        )
        assert.equal(await client.resetOf(11), ErrorCode.cancel)
        assert.equal(server.ends.at(-1), 'client_stalled')
        client.headers(13, requestFields([], 'HEAD'))
        await client.answer(13)
      },
      answerLarge,
      strict,
    ))
}

test('a reader just above the least pace gets its answer', () =>
  withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 0]])
      client.creditsWindows = false
      client.headers(1, requestFields())
      let steps = 0
      await repeatedly(
        () => openWindow(client, 1, 2),
        () => ++steps > 60,
      )
      openWindow(client, 1, 16_384)
      assert.equal((await client.answer(1)).body.length, 16_384)
    },
    answerLarge,
    patient,
  ))

test('a stream that waits for its neighbours on a slow connection is not slow itself', () =>
  withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 1_000_000]])
      client.creditsWindows = false
      const ids = Array.from({ length: 60 }, (_, index) => index * 2 + 1)
      for (const id of ids) client.headers(id, requestFields())
      await repeatedly(
        () => openWindow(client, 0, 10_000),
        () => server.ends.length === ids.length,
      )
      assert.deepEqual(new Set(server.ends), new Set(['sent']))
    },
    answerLarge,
    { limits: { bodyBytesPerSecondMin: 2_500 }, timeouts: { bodyIdleMs: 2_000 } },
  ))

function takeUploads(downstream: Downstream): void {
  if (downstream.request.method !== 'POST') return answerHello(downstream)
  downstream.request.body?.flow(new CountingSink())
}

/** An answer that has begun and goes on later. */
function converse(downstream: Downstream): void {
  if (downstream.request.target !== '/conversation') return takeUploads(downstream)
  downstream.request.body?.flow(new CountingSink())
  const silent = { lengthBytes: -1, flow: () => undefined, resume: () => undefined, abort: () => undefined }
  downstream.respond(head, silent)
}

test('an upload that comes byte by byte is reset alone, unless its answer has begun', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'POST', '/conversation'), 0)
      client.headers(3, requestFields([], 'POST', '/upload'), 0)
      await repeatedly(
        () => {
          client.data(1, 'x')
          if (!wasReset(client, 3)) client.data(3, 'x')
        },
        () => wasReset(client, 3),
      )
      assert.equal(await client.resetOf(3), ErrorCode.cancel)
      assert.deepEqual(server.ends, ['request_timeout'])
      assert.equal(wasReset(client, 1), false)
      await client.stillServes(5)
    },
    converse,
    strict,
  ))

test('an upload just above the least pace is taken', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'POST', '/upload'), 0)
      let steps = 0
      await repeatedly(
        () => client.data(1, 'xx'),
        () => ++steps > 60,
      )
      await client.ping()
      assert.equal(wasReset(client, 1), false)
    },
    takeUploads,
    patient,
  ))
