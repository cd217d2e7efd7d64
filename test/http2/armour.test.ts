// Attacks on one connection, each reaching its limit, and beside each what an honest CDN does just inside of it.
// Every attack ends with a good request answered.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import type { BodySink, BodySource } from '../../src/wire/body.js'
import type { Downstream } from '../../src/wire/downstream.js'
import {
  frameBytes,
  literals,
  type Pair,
  type RawClient,
  requestFields,
  settings,
  uint32,
} from '../support/http2-client.js'
import { answerHello, CountingSink, fieldsOf, type TestServer, withServer } from './harness.js'

const { endStream, endHeaders } = Flag
const empty = Buffer.alloc(0)

function answerUnlessWaiting(downstream: Downstream): void {
  if (downstream.request.target === '/wait') downstream.request.body?.flow(new CountingSink())
  else answerHello(downstream)
}

function head(
  streamId: number,
  flags: number = endStream,
  fields: readonly Pair[] = requestFields([], 'POST', '/wait'),
) {
  return frameBytes(FrameType.headers, flags | endHeaders, streamId, literals(fields))
}

/** Frames, one batch for each stream id 1, 3, 5, …, in one go. */
function flood(client: RawClient, count: number, batch: (streamId: number) => readonly Buffer[]): void {
  client.write(Buffer.concat(Array.from({ length: count }, (_, index) => batch(index * 2 + 1)).flat()))
}

async function endsAsFlood(server: TestServer, client: RawClient): Promise<void> {
  assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm)
  assert.equal(server.refusals.filter((one) => one.failure.code === 'flood').length, 1)
  const next = await server.client()
  await next.stillServes(1)
}

type Attack = readonly [story: string, send: (client: RawClient) => void]

const attacks: readonly Attack[] = [
  ['rapid reset (CVE-2023-44487)', (c) => flood(c, 1000, (id) => [head(id), rst(id)])],
  ['rapid reset in waves of a hundred', (c) => Array.from({ length: 10 }, (_, wave) => resetWave(c, wave))],
  ['MadeYouReset with bodies too long', (c) => flood(c, 500, (id) => [head(id, 0, lengthOf('1')), data(id, '22')])],
  [
    'MadeYouReset with bodies too short',
    (c) => flood(c, 500, (id) => [head(id, 0, lengthOf('3')), data(id, '22', endStream)]),
  ],
  ['MadeYouReset with zero increments', (c) => flood(c, 500, (id) => [head(id, 0), increment(id, 0)])],
  ['MadeYouReset with window overflows', (c) => flood(c, 500, (id) => [head(id, 0), increment(id, 0x7fffffff)])],
  ['MadeYouReset with DATA on half-closed streams', (c) => flood(c, 500, (id) => [head(id), data(id, 'x')])],
  ['MadeYouReset with HEADERS on half-closed streams', (c) => flood(c, 500, (id) => [head(id), head(id)])],
  [
    'MadeYouReset with PRIORITY of a wrong size',
    (c) => flood(c, 500, (id) => [head(id), frameBytes(FrameType.priority, 0, id, Buffer.alloc(4))]),
  ],
  ['MadeYouReset with malformed trailers', (c) => flood(c, 500, (id) => [head(id, 0), head(id)])],
  ['malformed requests without end', (c) => flood(c, 500, (id) => [head(id, endStream, [['x', 'y']])])],
  ['streams beyond the announced limit', (c) => flood(c, 1000, (id) => [head(id)])],
  ['a CONTINUATION flood', (c) => continuations(c, 1000, Buffer.from([0, 1, 0x78, 1, 0x79]))],
  ['a CONTINUATION flood of large frames', (c) => continuations(c, 30, Buffer.alloc(16_384, 0x82))],
  ['empty CONTINUATION frames', (c) => continuations(c, 1000, empty)],
  [
    'empty HEADERS and CONTINUATION',
    (c) =>
      flood(c, 600, (id) => [
        frameBytes(FrameType.headers, endStream, id),
        frameBytes(FrameType.continuation, 0, id),
        frameBytes(FrameType.continuation, endHeaders, id, literals(requestFields())),
      ]),
  ],
  ['empty DATA', (c) => c.write(Buffer.concat([head(1, 0), ...repeated(2000, data(1, ''))]))],
  [
    'DATA that is all padding',
    (c) =>
      c.write(
        Buffer.concat([
          head(1, 0),
          ...repeated(2000, frameBytes(FrameType.data, Flag.padded, 1, Buffer.from([2, 0, 0]))),
        ]),
      ),
  ],
  ['a PING flood', (c) => c.write(Buffer.concat(repeated(2000, frameBytes(FrameType.ping, 0, 0, Buffer.alloc(8)))))],
  [
    'a SETTINGS flood',
    (c) =>
      c.write(
        Buffer.concat(repeated(2000, frameBytes(FrameType.settings, 0, 0, settings([Setting.initialWindowSize, 5])))),
      ),
  ],
  [
    'a flood of SETTINGS acknowledgements',
    (c) => c.write(Buffer.concat(repeated(2000, frameBytes(FrameType.settings, Flag.ack, 0)))),
  ],
  [
    'a PRIORITY flood',
    (c) => c.write(Buffer.concat(repeated(2000, frameBytes(FrameType.priority, 0, 7, Buffer.alloc(5))))),
  ],
  [
    'a PRIORITY_UPDATE flood',
    (c) => c.write(Buffer.concat(repeated(2000, frameBytes(FrameType.priorityUpdate, 0, 0, uint32(7))))),
  ],
  ['a WINDOW_UPDATE flood', (c) => c.write(Buffer.concat(repeated(2000, increment(0, 1))))],
  ['a flood of unknown frames', (c) => c.write(Buffer.concat(repeated(2000, frameBytes(0xfa, 0, 0))))],
  [
    'a flood of resets on ended streams',
    (c) => c.write(Buffer.concat([head(1, endStream, requestFields()), ...repeated(2000, rst(1))])),
  ],
]

for (const [story, send] of attacks) {
  test(`${story} ends the connection, and the next one is served`, () =>
    withServer(async (server) => {
      const client = await server.client()
      send(client)
      await endsAsFlood(server, client)
      assert.ok(server.seen.length <= 301, `${server.seen.length} requests were let through`)
    }, answerUnlessWaiting))
}

function rst(streamId: number): Buffer {
  return frameBytes(FrameType.rstStream, 0, streamId, uint32(ErrorCode.cancel))
}

function resetWave(client: RawClient, wave: number): void {
  const ids = Array.from({ length: 100 }, (_, index) => wave * 200 + index * 2 + 1)
  client.write(Buffer.concat([...ids.map((id) => head(id)), ...ids.map(rst)]))
}

function lengthOf(bytes: string): Pair[] {
  return requestFields([['content-length', bytes]], 'POST', '/wait')
}

function data(streamId: number, payload: string, flags = 0): Buffer {
  return frameBytes(FrameType.data, flags, streamId, Buffer.from(payload))
}

function increment(streamId: number, bytes: number): Buffer {
  return frameBytes(FrameType.windowUpdate, 0, streamId, uint32(bytes))
}

function repeated(count: number, frame: Buffer): Buffer[] {
  return Array.from({ length: count }, () => frame)
}

function continuations(client: RawClient, count: number, payload: Buffer): void {
  const first = frameBytes(FrameType.headers, endStream, 1, literals(requestFields()))
  client.write(Buffer.concat([first, ...repeated(count, frameBytes(FrameType.continuation, 0, 1, payload))]))
}

test('a window opened byte by byte ends the connection', () =>
  withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 0]])
      client.creditsWindows = false
      client.headers(1, requestFields())
      for (let sent = 0; sent < 3000 && !client.isClosed; sent++) {
        client.write(increment(1, 1))
        const hasCome = () => client.isClosed || client.frames.length > sent + 4 || undefined
        await client.until(hasCome, 'a byte').catch(() => undefined)
      }
      await endsAsFlood(server, client)
    },
    (downstream) => downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, new SmallChunks()),
  ))

test('two thousand cancels spread over a minute pass, and a bystander never notices', () =>
  withServer(async (server) => {
    const client = await server.client()
    client.headers(1, requestFields([], 'POST', '/wait'), 0)
    for (let second = 0; second < 60; second++) {
      server.elapsedMs = second * 1000
      const ids = Array.from({ length: 34 }, (_, index) => 3 + (second * 34 + index) * 2)
      client.write(Buffer.concat(ids.flatMap((id) => [head(id), rst(id)])))
      await client.ping()
    }
    await client.stillServes(9999)
    assert.equal(server.ends.filter((end) => end === 'client_gone').length, 2040)
    client.data(1, 'still here', endStream)
    await client.ping()
    assert.equal(server.ends.length, 2041)
  }, answerUnlessWaiting))

test('250 streams at once are open, and all may be cancelled at once', () =>
  withServer(async (server) => {
    const client = await server.client()
    flood(client, 250, (id) => [head(id)])
    await client.ping()
    assert.equal(server.seen.length, 250)
    flood(client, 250, (id) => [rst(id)])
    await client.stillServes(1001)
  }, answerUnlessWaiting))

test('the 251st stream at once is refused alone', () =>
  withServer(async (server) => {
    const client = await server.client()
    flood(client, 251, (id) => [head(id)])
    assert.equal(await client.resetOf(501), ErrorCode.refusedStream)
    assert.equal(server.seen.length, 250)
    client.write(rst(1))
    await client.stillServes(503)
  }, answerUnlessWaiting))

test('a few stream errors are forgiven', () =>
  withServer(async (server) => {
    const client = await server.client()
    flood(client, 90, (id) => [head(id, 0, lengthOf('1')), data(id, '22')])
    await client.stillServes(1001)
    assert.equal(server.ends.filter((end) => end === 'bad_body').length, 90)
  }, answerUnlessWaiting))

test('200 cookie crumbs and a cookie of 32 KiB pass', () =>
  withServer(async (server) => {
    const client = await server.client()
    const crumbs = Array.from({ length: 200 }, (_, index): Pair => ['cookie', `crumb${index}=value`])
    client.headers(1, requestFields(crumbs))
    assert.equal((await client.answer(1)).status, '200')
    const section = literals(requestFields([['cookie', `c=${'v'.repeat(32_768)}`]]))
    client.send(FrameType.headers, endStream, 3, section.subarray(0, 16_384))
    client.send(FrameType.continuation, 0, 3, section.subarray(16_384, 32_768))
    client.send(FrameType.continuation, endHeaders, 3, section.subarray(32_768))
    assert.equal((await client.answer(3)).status, '200')
    assert.equal(server.seen[1]?.lines[0]?.length, 32_778)
  }))

test('an HPACK bomb of one-byte references is answered 431 and stores nothing', () =>
  withServer(async (server) => {
    const client = await server.client()
    const value = Buffer.alloc(3000, 0x76)
    const planted = Buffer.concat([literals(requestFields()), Buffer.from([0x40, 1, 0x78, 0x7f, 0xb9, 0x16]), value])
    client.send(FrameType.headers, endStream | endHeaders, 1, planted)
    await client.answer(1)
    const bomb = Buffer.concat([literals(requestFields()), Buffer.alloc(16_000, 0xbe)])
    client.send(FrameType.headers, endStream | endHeaders, 3, bomb)
    assert.equal((await client.answer(3)).status, '431')
    await client.stillServes(5)
    assert.equal(server.seen.length, 2)
  }))

test('a bomb of cookie crumbs is answered 431', () =>
  withServer(async (server) => {
    const client = await server.client()
    const crumb = Buffer.from([0x60, 0])
    const bomb = Buffer.concat([literals(requestFields()), crumb, Buffer.alloc(15_000, 0xbe)])
    client.send(FrameType.headers, endStream | endHeaders, 1, bomb)
    assert.equal((await client.answer(1)).status, '431')
    await client.stillServes(3)
  }))

test('control frames that come with a large download are no flood', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields())
      // Two WINDOW_UPDATEs for each of some 3,000 frames.
      assert.equal((await client.answer(1)).body.length, 3000 * 1000)
    },
    (downstream) => downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, new SmallChunks()),
  ))

/** A body of 3,000 chunks, each in a turn of its own, so that each is a frame. */
class SmallChunks implements BodySource {
  readonly lengthBytes = 3_000_000
  #left = 3000
  #sink: BodySink | undefined

  flow(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }

  resume(): void {
    if (this.#left === 0) return
    this.#left--
    this.#sink?.write(Buffer.alloc(1000))
    if (this.#left === 0) this.#sink?.end(undefined)
    else setImmediate(() => this.resume())
  }

  abort(): void {
    this.#left = 0
  }
}
