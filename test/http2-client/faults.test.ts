// What an endpoint may not do: malformed answers fail their attempt and nothing else, a broken connection fails them all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import { until } from '../support/deadline.js'
import { literals, type Pair, settings, uint32 } from '../support/http2-client.js'
import { HandSource, type RawEndpoint, withRig } from './rig.js'

/** Fails the attempt on stream 1 before its answer, with a reset of this code. */
interface MalformedAnswer {
  readonly name: string
  readonly code?: number
  say(endpoint: RawEndpoint): void
}

const { endStream, endHeaders } = Flag

const malformed: readonly MalformedAnswer[] = [
  { name: 'no :status', say: (endpoint) => endpoint.headers(1, [['server', 'x']]) },
  ...['', '20', '2000', '20x', '099', ' 200', '-99', '1e2'].map((status) => ({
    name: `:status ${JSON.stringify(status)}`,
    say: (endpoint: RawEndpoint) => endpoint.respond(1, status),
  })),
  { name: ':status twice', say: (endpoint) => endpoint.respond(1, 200, [[':status', '200']]) },
  { name: 'a pseudo-header of a request', say: (endpoint) => endpoint.respond(1, 200, [[':path', '/']]) },
  { name: 'an unknown pseudo-header', say: (endpoint) => endpoint.respond(1, 200, [[':what', '1']]) },
  {
    name: 'a pseudo-header behind a header',
    say: (endpoint) =>
      endpoint.headers(1, [
        ['server', 'x'],
        [':status', '200'],
      ]),
  },
  ...(
    [
      ['connection', 'close'],
      ['keep-alive', 'timeout=5'],
      ['proxy-connection', 'close'],
      ['transfer-encoding', 'chunked'],
      ['upgrade', 'websocket'],
      ['te', 'gzip'],
      ['Upper', 'case'],
      ['', 'no name'],
      ['sp ace', 'x'],
      ['x', 'a\r\nb'],
      ['x', 'a\0b'],
      ['x', ' padded '],
    ] satisfies Pair[]
  ).map((field) => ({
    name: `the line ${JSON.stringify(field)}`,
    say: (endpoint: RawEndpoint) => endpoint.respond(1, 200, [field]),
  })),
  { name: 'status 101', say: (endpoint) => endpoint.respond(1, 101) },
  { name: 'an informational head that ends the stream', say: (endpoint) => endpoint.respond(1, 103, [], endStream) },
  {
    name: 'two lengths',
    say: (endpoint) =>
      endpoint.respond(1, 200, [
        ['content-length', '1'],
        ['content-length', '1'],
      ]),
  },
  { name: 'a length that is no number', say: (endpoint) => endpoint.respond(1, 200, [['content-length', '+1']]) },
  {
    name: 'a length without a body',
    say: (endpoint) => endpoint.respond(1, 200, [['content-length', '1']], endStream),
  },
  { name: 'DATA before the head', say: (endpoint) => endpoint.data(1, 'x') },
  { name: 'an end before the head', say: (endpoint) => endpoint.data(1, '', endStream) },
  {
    name: 'a stream that depends on itself',
    say: (endpoint) =>
      endpoint.send(
        FrameType.headers,
        endHeaders | Flag.priority,
        1,
        Buffer.concat([uint32(1), Buffer.from([0]), literals([[':status', '200']])]),
      ),
  },
  { name: 'a window increment of zero', say: (endpoint) => endpoint.send(FrameType.windowUpdate, 0, 1, uint32(0)) },
  {
    name: 'a window above the maximum',
    code: ErrorCode.flowControlError,
    say: (endpoint) => endpoint.send(FrameType.windowUpdate, 0, 1, uint32(0x7fffffff)),
  },
  {
    name: 'more lines than the limit',
    say: (endpoint) =>
      endpoint.respond(
        1,
        200,
        Array.from({ length: 257 }, (): Pair => ['x', 'y']),
      ),
  },
  {
    name: 'more bytes than the limit',
    say: (endpoint) => {
      const half = literals([[':status', '200'], ...Array.from({ length: 3 }, (): Pair => ['x', 'y'.repeat(5000)])])
      endpoint.send(FrameType.headers, 0, 1, half)
      const rest = Array.from({ length: 60 }, () => literals([['x', 'y'.repeat(1000)]]))
      for (let at = 0; at < 60; at += 15) {
        endpoint.send(FrameType.continuation, at === 45 ? endHeaders : 0, 1, Buffer.concat(rest.slice(at, at + 15)))
      }
    },
  },
]

for (const { name, code, say } of malformed) {
  test(`${name}: the attempt fails, the connection stays`, () =>
    withRig(async (rig) => {
      const recorded = await rig.ask({ method: 'POST', body: new HandSource() }, 1)
      rig.endpoint.frames.length = 0
      say(rig.endpoint)
      await recorded.final()
      assert.equal(recorded.failure?.code, 'upstream_protocol')
      assert.notEqual(recorded.failure?.detail, '')
      assert.equal(await rig.endpoint.resetOf(1), code ?? ErrorCode.protocolError)
      assert.deepEqual(rig.owner.failed, [recorded.failure])
      await rig.stillServes(3)
    }))
}

/** Breaks the body of the answer on stream 1. */
const brokenBodies: readonly { readonly name: string; readonly code?: number; say(endpoint: RawEndpoint): void }[] = [
  { name: 'more than content-length', say: (endpoint) => endpoint.data(1, 'abcde') },
  { name: 'less than content-length', say: (endpoint) => endpoint.data(1, 'abc', endStream) },
  { name: 'trailers before content-length', say: (endpoint) => endpoint.headers(1, [['x', 'y']], endStream) },
  {
    name: 'trailers that end nothing',
    say: (endpoint) => {
      endpoint.data(1, 'abcd')
      endpoint.headers(1, [['x', 'y']], 0)
    },
  },
  {
    name: 'trailers with a pseudo-header',
    say: (endpoint) => {
      endpoint.data(1, 'abcd')
      endpoint.headers(1, [[':status', '200']], endStream)
    },
  },
  {
    name: 'trailers with a connection header',
    say: (endpoint) => {
      endpoint.data(1, 'abcd')
      endpoint.headers(1, [['connection', 'x']], endStream)
    },
  },
  {
    name: 'more than the stream window',
    code: ErrorCode.flowControlError,
    say: (endpoint) => {
      for (let count = 0; count < 5; count++) endpoint.data(3, Buffer.alloc(16_384))
    },
  },
]

for (const { name, code, say } of brokenBodies) {
  test(`a body with ${name} breaks off visibly, and the connection stays`, () =>
    withRig(async (rig) => {
      const recorded = await rig.ask({}, 1)
      const unread = rig.send()
      unread.takesBody = false
      rig.endpoint.respond(1, 200, [['content-length', '4']])
      rig.endpoint.respond(3, 200)
      await unread.final()
      await recorded.final()
      say(rig.endpoint)
      const isWindow = code === ErrorCode.flowControlError
      assert.equal(await rig.endpoint.resetOf(isWindow ? 3 : 1), code ?? ErrorCode.protocolError)
      if (!isWindow) {
        await recorded.whole()
        assert.equal(recorded.sink.ended, 'abort')
        assert.equal(recorded.sink.failure?.code, 'upstream_protocol')
        assert.ok(recorded.sink.bytes <= 4, 'not a byte too many is passed on')
      }
      assert.equal(rig.owner.failed.length, 1)
      await rig.stillServes(5)
    }))
}

const hpackOfNothing = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f])

const fatal: readonly { readonly name: string; readonly code: number; say(endpoint: RawEndpoint): void }[] = [
  {
    name: 'PUSH_PROMISE',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.pushPromise, endHeaders, 1, uint32(2)),
  },
  {
    name: 'PRIORITY_UPDATE',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.priorityUpdate, 0, 0, uint32(1)),
  },
  {
    name: 'ENABLE_PUSH=1',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.settings, 0, 0, settings([Setting.enablePush, 1])),
  },
  {
    name: 'a window setting above the maximum',
    code: ErrorCode.flowControlError,
    say: (endpoint) => endpoint.send(FrameType.settings, 0, 0, settings([Setting.initialWindowSize, 0x80000000])),
  },
  {
    name: 'a frame size below the minimum',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.settings, 0, 0, settings([Setting.maxFrameSize, 16_383])),
  },
  {
    name: 'SETTINGS of a wrong size',
    code: ErrorCode.frameSizeError,
    say: (endpoint) => endpoint.send(FrameType.settings, 0, 0, Buffer.alloc(5)),
  },
  {
    name: 'an acknowledgement with content',
    code: ErrorCode.frameSizeError,
    say: (endpoint) => endpoint.send(FrameType.settings, Flag.ack, 0, Buffer.alloc(6)),
  },
  {
    name: 'SETTINGS on a stream',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.settings, 0, 1),
  },
  {
    name: 'a PING on a stream',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.ping, 0, 1, Buffer.alloc(8)),
  },
  {
    name: 'a PING of a wrong size',
    code: ErrorCode.frameSizeError,
    say: (endpoint) => endpoint.send(FrameType.ping, 0, 0, Buffer.alloc(7)),
  },
  {
    name: 'a GOAWAY that is too short',
    code: ErrorCode.frameSizeError,
    say: (endpoint) => endpoint.send(FrameType.goaway, 0, 0, Buffer.alloc(7)),
  },
  {
    name: 'a GOAWAY on a stream',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.goaway, 0, 1, Buffer.alloc(8)),
  },
  {
    name: 'a GOAWAY that takes streams back',
    code: ErrorCode.protocolError,
    say: (endpoint) => {
      endpoint.sayGoodbye(5)
      endpoint.sayGoodbye(7)
    },
  },
  {
    name: 'a connection window increment of zero',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.windowUpdate, 0, 0, uint32(0)),
  },
  {
    name: 'a connection window above the maximum',
    code: ErrorCode.flowControlError,
    say: (endpoint) => endpoint.send(FrameType.windowUpdate, 0, 0, uint32(0x7fffffff)),
  },
  {
    name: 'RST_STREAM of a wrong size',
    code: ErrorCode.frameSizeError,
    say: (endpoint) => endpoint.send(FrameType.rstStream, 0, 1, Buffer.alloc(3)),
  },
  { name: 'RST_STREAM on stream 0', code: ErrorCode.protocolError, say: (endpoint) => endpoint.reset(0, 0) },
  { name: 'HEADERS on stream 0', code: ErrorCode.protocolError, say: (endpoint) => endpoint.respond(0, 200) },
  {
    name: 'HEADERS on a stream of its own',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.respond(2, 200),
  },
  { name: 'HEADERS on an idle stream', code: ErrorCode.protocolError, say: (endpoint) => endpoint.respond(7, 200) },
  { name: 'DATA on stream 0', code: ErrorCode.protocolError, say: (endpoint) => endpoint.data(0, 'x') },
  { name: 'DATA on an idle stream', code: ErrorCode.protocolError, say: (endpoint) => endpoint.data(7, 'x') },
  { name: 'DATA on a stream of its own', code: ErrorCode.protocolError, say: (endpoint) => endpoint.data(2, 'x') },
  { name: 'RST_STREAM on an idle stream', code: ErrorCode.protocolError, say: (endpoint) => endpoint.reset(7, 0) },
  {
    name: 'WINDOW_UPDATE on an idle stream',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.windowUpdate, 0, 7, uint32(1)),
  },
  {
    name: 'CONTINUATION without a head',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.continuation, endHeaders, 1),
  },
  {
    name: 'a frame within a head',
    code: ErrorCode.protocolError,
    say: (endpoint) => {
      endpoint.send(FrameType.headers, 0, 1)
      endpoint.send(FrameType.ping, 0, 0, Buffer.alloc(8))
    },
  },
  {
    name: 'DATA within a head',
    code: ErrorCode.protocolError,
    say: (endpoint) => {
      endpoint.send(FrameType.headers, 0, 1)
      endpoint.data(1, 'x')
    },
  },
  {
    name: 'more padding than payload',
    code: ErrorCode.protocolError,
    say: (endpoint) => endpoint.send(FrameType.data, Flag.padded, 1, Buffer.from([9, 1])),
  },
  {
    name: 'a frame larger than announced',
    code: ErrorCode.frameSizeError,
    say: (endpoint) => endpoint.send(FrameType.ping, 0, 0, Buffer.alloc(16_385)),
  },
  {
    name: 'a head that is not HPACK',
    code: ErrorCode.compressionError,
    say: (endpoint) => endpoint.send(FrameType.headers, endHeaders, 1, hpackOfNothing),
  },
]

for (const { name, code, say } of fatal) {
  test(`${name} ends the connection, and everybody on it hears so`, () =>
    withRig(async (rig) => {
      const first = await rig.ask({}, 1)
      const second = await rig.ask({}, 3)
      rig.endpoint.respond(3, 200)
      await second.final()
      say(rig.endpoint)
      assert.equal(await rig.endpoint.farewell(), code)
      await first.final()
      await second.whole()
      assert.equal(first.failure?.code, 'upstream_protocol')
      assert.equal(first.failure?.retry, 'if_idempotent')
      assert.equal(second.sink.failure?.code, 'upstream_protocol')
      assert.equal(second.sink.failure?.retry, 'never')
      await rig.isGone()
      await rig.endpoint.until(() => rig.endpoint.isClosed || undefined, 'the end').catch(() => undefined)
    }))
}

test('an endpoint that speaks HTTP/1 is told from a broken one', () =>
  withRig(
    async (rig) => {
      const recorded = rig.send()
      rig.endpoint.write(Buffer.from('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'))
      await recorded.final()
      assert.match(recorded.failure?.detail ?? '', /does not speak HTTP\/2/)
      await rig.isGone()
    },
    { hello: 'silent' },
  ))

test('frames before SETTINGS are refused', () =>
  withRig(
    async (rig) => {
      rig.send()
      rig.endpoint.respond(1, 200)
      assert.equal(await rig.endpoint.farewell(), ErrorCode.protocolError)
    },
    { hello: 'silent' },
  ))

test('what was on its way to a cancelled stream is ignored, even long after', () =>
  withRig(async (rig) => {
    for (const id of [1, 3]) (await rig.ask({}, id)).attempt?.cancel()
    for (let id = 5; id < 601; id += 2) await rig.stillServes(id)
    ;(await rig.ask({}, 601)).attempt?.cancel()
    for (const id of [1, 3, 601]) {
      rig.endpoint.respond(id, 200)
      rig.endpoint.data(id, 'late', endStream)
    }
    await rig.stillServes(603)
  }))

test('frames behind the end of an answer end the connection', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.endpoint.respond(1, 200, [], endStream)
    await recorded.final()
    rig.endpoint.data(1, 'more')
    assert.equal(await rig.endpoint.farewell(), ErrorCode.streamClosed)
  }))

test('a DATA frame behind the end of an answer whose request still runs harms nobody', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({ method: 'POST', body: new HandSource() }, 1)
    rig.endpoint.respond(1, 200, [], endStream)
    rig.endpoint.data(1, 'more')
    await recorded.final()
    await rig.stillServes(3)
    assert.equal(recorded.finals, 1)
  }))

const floods: readonly { readonly name: string; say(endpoint: RawEndpoint): void }[] = [
  { name: 'PING', say: (endpoint) => endpoint.send(FrameType.ping, 0, 0, Buffer.alloc(8)) },
  { name: 'SETTINGS', say: (endpoint) => endpoint.send(FrameType.settings, 0, 0) },
  { name: 'WINDOW_UPDATE', say: (endpoint) => endpoint.send(FrameType.windowUpdate, 0, 0, uint32(1)) },
  { name: 'PRIORITY', say: (endpoint) => endpoint.send(FrameType.priority, 0, 1, Buffer.alloc(5)) },
  { name: 'unknown frames', say: (endpoint) => endpoint.send(0xfa, 0, 0) },
  { name: 'empty DATA', say: (endpoint) => endpoint.data(3, '') },
]

for (const { name, say } of floods) {
  test(`a flood of ${name} ends the connection; a few hundred do not`, () =>
    withRig(async (rig) => {
      const waiting = await rig.ask({}, 1)
      const answered = await rig.ask({}, 3)
      rig.endpoint.respond(3, 200)
      await answered.final()
      for (let count = 0; count < 500; count++) say(rig.endpoint)
      await rig.endpoint.ping()
      for (let count = 0; count < 1500; count++) say(rig.endpoint)
      assert.equal(await rig.endpoint.farewell(), ErrorCode.enhanceYourCalm)
      assert.equal((await waiting.final()).failure?.code, 'upstream_protocol')
    }))
}

test('CONTINUATION without end ends the connection', () =>
  withRig(async (rig) => {
    await rig.ask({}, 1)
    rig.endpoint.send(FrameType.headers, 0, 1, literals([[':status', '200']]))
    for (let count = 0; count < 40; count++) rig.endpoint.send(FrameType.continuation, 0, 1, literals([['x', 'y']]))
    assert.equal(await rig.endpoint.farewell(), ErrorCode.enhanceYourCalm)
  }))

test('thirty-two informational heads pass, one more fails the attempt', () =>
  withRig(async (rig) => {
    const patient = await rig.ask({}, 1)
    const flooded = await rig.ask({}, 3)
    for (let count = 0; count < 32; count++) rig.endpoint.respond(1, 103)
    for (let count = 0; count < 33; count++) rig.endpoint.respond(3, 103)
    rig.endpoint.respond(1, 200, [], endStream)
    assert.equal((await patient.final()).status, 200)
    assert.equal((await flooded.final()).failure?.code, 'upstream_protocol')
    assert.equal(flooded.informational.length, 32)
    await until('both are done', () => rig.connection.active === 0)
    await rig.stillServes(5)
  }))
