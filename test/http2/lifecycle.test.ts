// How connections end: drained, idle, stalled, slow, destroyed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, readUint31, Setting } from '../../src/http2/frames.js'
import type { Downstream } from '../../src/wire/downstream.js'
import { literals, requestFields } from '../support/http2-client.js'
import { answerHello, ChunkSource, CountingSink, fieldsOf, withServer } from './harness.js'

const head = { status: 200, reason: '', headers: fieldsOf() }

test('a drain warns, serves what was on its way, says the last stream, lets it end and closes', () => {
  const waiting: Downstream[] = []
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'GET', '/wait'))
      await client.ping()
      server.connections[0]?.drain()
      const isWarning = (one: { type: number; payload: Buffer }) =>
        one.type === FrameType.goaway && readUint31(one.payload, 0) === 0x7fffffff
      await client.frame(isWarning, 'a warning')
      client.headers(3, requestFields())
      assert.equal((await client.answer(3)).status, '200')
      const ping = await client.frame((one) => one.type === FrameType.ping && one.flags === 0, 'a PING')
      client.send(FrameType.ping, Flag.ack, 0, ping.payload)
      const last = await client.frame((one) => one.type === FrameType.goaway && !isWarning(one), 'the last stream')
      assert.equal(readUint31(last.payload, 0), 3)
      client.headers(5, requestFields())
      assert.equal(await client.resetOf(5), ErrorCode.refusedStream)
      for (const downstream of waiting) answerHello(downstream)
      assert.equal((await client.answer(1)).status, '200')
      assert.equal(await client.goaway(), ErrorCode.noError)
    },
    (downstream) => {
      if (downstream.request.target === '/wait') waiting.push(downstream)
      else answerHello(downstream)
    },
  )
})

test('a drain of an idle connection closes it, though the client never answers the PING', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      await client.stillServes(1)
      server.connections[0]?.drain()
      assert.equal(await client.goaway(), ErrorCode.noError)
    },
    answerHello,
    { limits: { closeMs: 100 } },
  ))

test('an idle connection is closed with a goodbye', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      await client.stillServes(1)
      assert.equal(await client.goaway(), ErrorCode.noError)
      assert.equal(server.refusals.length, 0)
    },
    answerHello,
    { timeouts: { idleMs: 100 } },
  ))

test('a connection with a stream is not idle', () => {
  const waiting: Downstream[] = []
  return withServer(
    async (server) => {
      const [client, other] = [await server.client(), await server.client()]
      client.headers(1, requestFields())
      await other.goaway()
      assert.equal(client.isClosed, false)
      for (const downstream of waiting) answerHello(downstream)
      assert.equal((await client.answer(1)).status, '200')
    },
    (downstream) => waiting.push(downstream),
    { timeouts: { idleMs: 100 } },
  )
})

test('a head that does not end in time ends the connection', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      await client.stillServes(1)
      client.send(FrameType.headers, Flag.endStream, 3, literals(requestFields()))
      assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm)
      assert.equal(server.refusals[0]?.failure.code, 'request_timeout')
    },
    answerHello,
    { timeouts: { headersMs: 200 } },
  ))

test('a head that drips in byte by byte ends the connection', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      const request = literals(requestFields())
      const frame = Buffer.concat([Buffer.from([0, 0, request.length, 1, 5, 0, 0, 0, 1]), request])
      for (let at = 0; !client.isClosed && at < frame.length - 1; at++) {
        client.write(frame.subarray(at, at + 1))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm)
      assert.equal(server.seen.length, 0)
    },
    answerHello,
    { timeouts: { headersMs: 200 } },
  ))

test('a client that never says the preface is sent away', () =>
  withServer(
    async (server) => {
      const client = await server.silentClient()
      assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm)
    },
    answerHello,
    { timeouts: { headersMs: 200 } },
  ))

test('an upload that stands still is reset alone', () => {
  const sink = new CountingSink()
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'POST', '/upload'), 0)
      client.data(1, 'part')
      assert.equal(await client.resetOf(1), ErrorCode.cancel)
      assert.equal(sink.failure?.code, 'request_timeout')
      assert.deepEqual(server.ends, ['request_timeout'])
      await client.stillServes(3)
    },
    (downstream) => {
      if (downstream.request.target === '/upload') downstream.request.body?.flow(sink)
      else answerHello(downstream)
    },
    { timeouts: { bodyIdleMs: 200 } },
  )
})

test('a download whose window never opens is reset alone', () =>
  withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 0]])
      client.headers(1, requestFields())
      client.headers(3, requestFields([], 'HEAD'))
      await client.answer(3)
      assert.equal(await client.resetOf(1), ErrorCode.cancel)
      assert.deepEqual(server.ends, ['sent', 'client_stalled'])
      client.headers(5, requestFields([], 'HEAD'))
      await client.answer(5)
    },
    answerHello,
    { timeouts: { bodyIdleMs: 200 } },
  ))

test('an answer that takes long is not a stall', () => {
  const waiting: Downstream[] = []
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'GET', '/wait'))
      client.headers(3, requestFields([], 'POST', '/upload'), 0)
      await client.resetOf(3)
      for (const downstream of waiting.slice(0, 1)) answerHello(downstream)
      assert.equal((await client.answer(1)).status, '200')
    },
    (downstream) => waiting.push(downstream),
    { timeouts: { bodyIdleMs: 200 } },
  )
})

test('destroy ends everything now, and the exchanges hear of it', () => {
  const source = new ChunkSource([])
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'GET', '/wait'))
      await client.ping()
      server.connections[0]?.destroy()
      await client.until(() => client.isClosed || undefined, 'the end').catch(() => undefined)
      assert.deepEqual(server.ends, ['shutdown'])
      assert.equal(server.connections[0]?.requests, 1)
    },
    (downstream) => {
      if (downstream.request.target !== '/wait') downstream.respond(head, source)
    },
  )
})

test('ten thousand streams opened and reset leave nothing behind', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      for (let wave = 0; wave < 100; wave++) {
        server.elapsedMs = wave * 10_000
        for (let index = 0; index < 100; index++) client.headers(wave * 200 + index * 2 + 1, requestFields(), 0)
        for (let index = 0; index < 100; index++) {
          client.send(FrameType.rstStream, 0, wave * 200 + index * 2 + 1, Buffer.from([0, 0, 0, 8]))
        }
        await client.ping()
      }
      assert.equal(server.connections[0]?.requests, 10_000)
      assert.equal(server.connections[0]?.streams.size, 0)
      assert.equal(server.ends.length, 10_000)
    },
    () => undefined,
  ))

test('§6.8 a client that says goodbye gets the answers to what it asked, then the connection ends', () => {
  const waiting: Downstream[] = []
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields())
      client.send(FrameType.goaway, 0, 0, Buffer.alloc(8))
      await client.ping()
      for (const downstream of waiting) answerHello(downstream)
      assert.equal((await client.answer(1)).status, '200')
      assert.equal(await client.goaway(), ErrorCode.noError)
    },
    (downstream) => waiting.push(downstream),
  )
})

test('§6.8 a client that says goodbye and asked for nothing is let go', () =>
  withServer(async (server) => {
    const client = await server.client()
    client.send(FrameType.goaway, 0, 0, Buffer.alloc(8))
    assert.equal(await client.goaway(), ErrorCode.noError)
  }))
