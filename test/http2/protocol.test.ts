// Every MUST of RFC 9113 that a client can break: what it sends, and whether the connection or the stream ends, with which
// code. After a stream error the connection must go on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import type { Downstream } from '../../src/wire/downstream.js'
import { literals, type Pair, type RawClient, requestFields, settings, uint32 } from '../support/http2-client.js'
import { answerHello, fieldsOf, withServer } from './harness.js'

const { endStream, endHeaders, padded, priority, ack } = Flag
const open = endHeaders
const whole = endHeaders | endStream

type Story = readonly [story: string, code: number, send: (client: RawClient) => void | Promise<void>]

/** Requests with `/wait` stay open, so that their streams can be spoiled. */
function answerUnlessWaiting(downstream: Downstream): void {
  if (downstream.request.target === '/wait') return
  answerHello(downstream)
}

function wait(client: RawClient, flags: number): void {
  client.headers(1, requestFields([], 'POST', '/wait'), flags)
}

/** Opens stream 1 and has it closed by both sides. */
async function finishStream(client: RawClient): Promise<void> {
  client.headers(1, requestFields())
  await client.answer(1)
}

const connectionErrors: readonly Story[] = [
  ['§4.2 a frame larger than announced', ErrorCode.frameSizeError, (c) => c.data(1, Buffer.alloc(16_385))],
  [
    '§4.3 HPACK that cannot be read',
    ErrorCode.compressionError,
    (c) => c.send(FrameType.headers, whole, 1, Buffer.from([0x80])),
  ],
  [
    '§4.3 HPACK that ends early',
    ErrorCode.compressionError,
    (c) => c.send(FrameType.headers, whole, 1, Buffer.from([0x00, 5, 1])),
  ],
  ['§5.1 DATA on an idle stream', ErrorCode.protocolError, (c) => c.data(1, 'x')],
  ['§5.1 RST_STREAM on an idle stream', ErrorCode.protocolError, (c) => c.send(FrameType.rstStream, 0, 1, uint32(8))],
  [
    '§5.1 WINDOW_UPDATE on an idle stream',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.windowUpdate, 0, 1, uint32(8)),
  ],
  [
    '§5.1 CONTINUATION on an idle stream',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.continuation, endHeaders, 1),
  ],
  [
    '§5.1 HEADERS on a closed stream',
    ErrorCode.streamClosed,
    async (c) => {
      await finishStream(c)
      c.headers(1, requestFields())
    },
  ],
  ['§5.1.1 a stream with an even id', ErrorCode.protocolError, (c) => c.headers(2, requestFields())],
  [
    '§5.1.1 a stream with an id below the last one',
    ErrorCode.protocolError,
    (c) => {
      c.headers(5, requestFields())
      c.headers(3, requestFields())
    },
  ],
  ['§5.5 a frame of an unknown type within a field section', ErrorCode.protocolError, (c) => within(c, 0xfa, 0, 1)],
  ['§6.1 DATA on stream 0', ErrorCode.protocolError, (c) => c.data(0, 'x')],
  [
    '§6.1 DATA with more padding than payload',
    ErrorCode.protocolError,
    (c) => {
      wait(c, 0)
      c.send(FrameType.data, padded, 1, Buffer.from([5, 1, 2, 3, 4]))
    },
  ],
  [
    '§6.1 padded DATA without a payload',
    ErrorCode.protocolError,
    (c) => {
      wait(c, 0)
      c.send(FrameType.data, padded, 1)
    },
  ],
  ['§6.1 DATA within a field section', ErrorCode.protocolError, (c) => within(c, FrameType.data, 0, 1)],
  ['§6.2 HEADERS on stream 0', ErrorCode.protocolError, (c) => c.headers(0, requestFields())],
  [
    '§6.2 HEADERS with more padding than payload',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.headers, whole | padded, 1, Buffer.from([9, 0x82])),
  ],
  [
    '§6.2 padded HEADERS without a payload',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.headers, whole | padded, 1),
  ],
  [
    '§6.2 HEADERS too short for their priority',
    ErrorCode.frameSizeError,
    (c) => c.send(FrameType.headers, whole | priority, 1, Buffer.from([0])),
  ],
  ['§6.2 HEADERS within a field section', ErrorCode.protocolError, (c) => within(c, FrameType.headers, endHeaders, 3)],
  ['§6.3 PRIORITY on stream 0', ErrorCode.protocolError, (c) => c.send(FrameType.priority, 0, 0, Buffer.alloc(5))],
  [
    '§6.3 PRIORITY within a field section',
    ErrorCode.protocolError,
    (c) => within(c, FrameType.priority, 0, 1, Buffer.alloc(5)),
  ],
  ['§6.4 RST_STREAM on stream 0', ErrorCode.protocolError, (c) => c.send(FrameType.rstStream, 0, 0, uint32(8))],
  [
    '§6.4 RST_STREAM of a wrong size',
    ErrorCode.frameSizeError,
    (c) => {
      wait(c, 0)
      c.send(FrameType.rstStream, 0, 1, Buffer.alloc(3))
    },
  ],
  ['§6.5 SETTINGS on a stream', ErrorCode.protocolError, (c) => c.send(FrameType.settings, 0, 1)],
  ['§6.5 SETTINGS of a wrong size', ErrorCode.frameSizeError, (c) => c.send(FrameType.settings, 0, 0, Buffer.alloc(5))],
  [
    '§6.5 an acknowledgement with a payload',
    ErrorCode.frameSizeError,
    (c) => c.send(FrameType.settings, ack, 0, Buffer.alloc(6)),
  ],
  ['§6.5.2 SETTINGS_ENABLE_PUSH of 2', ErrorCode.protocolError, (c) => set(c, Setting.enablePush, 2)],
  [
    '§6.5.2 SETTINGS_INITIAL_WINDOW_SIZE above the maximum',
    ErrorCode.flowControlError,
    (c) => set(c, Setting.initialWindowSize, 2 ** 31),
  ],
  [
    '§6.5.2 SETTINGS_MAX_FRAME_SIZE below the minimum',
    ErrorCode.protocolError,
    (c) => set(c, Setting.maxFrameSize, 16_383),
  ],
  [
    '§6.5.2 SETTINGS_MAX_FRAME_SIZE above the maximum',
    ErrorCode.protocolError,
    (c) => set(c, Setting.maxFrameSize, 2 ** 24),
  ],
  [
    'RFC 8441 SETTINGS_ENABLE_CONNECT_PROTOCOL of 2',
    ErrorCode.protocolError,
    (c) => set(c, Setting.enableConnectProtocol, 2),
  ],
  [
    '§6.6 PUSH_PROMISE from a client',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.pushPromise, endHeaders, 1, uint32(2)),
  ],
  ['§6.7 PING on a stream', ErrorCode.protocolError, (c) => c.send(FrameType.ping, 0, 1, Buffer.alloc(8))],
  ['§6.7 PING of a wrong size', ErrorCode.frameSizeError, (c) => c.send(FrameType.ping, 0, 0, Buffer.alloc(6))],
  ['§6.8 GOAWAY on a stream', ErrorCode.protocolError, (c) => c.send(FrameType.goaway, 0, 1, uint32(0, 0))],
  ['§6.8 GOAWAY of a wrong size', ErrorCode.frameSizeError, (c) => c.send(FrameType.goaway, 0, 0, uint32(0))],
  [
    '§6.9 a window increment of zero for the connection',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.windowUpdate, 0, 0, uint32(0)),
  ],
  [
    '§6.9 WINDOW_UPDATE of a wrong size',
    ErrorCode.frameSizeError,
    (c) => c.send(FrameType.windowUpdate, 0, 0, Buffer.alloc(3)),
  ],
  [
    '§6.9.1 a connection window above the maximum',
    ErrorCode.flowControlError,
    (c) => c.send(FrameType.windowUpdate, 0, 0, uint32(0x7fffffff)),
  ],
  [
    '§6.9.2 an initial window that lifts a stream above the maximum',
    ErrorCode.flowControlError,
    (c) => {
      wait(c, endStream)
      c.send(FrameType.windowUpdate, 0, 1, uint32(0x7fff0000))
      set(c, Setting.initialWindowSize, 0x7fffffff)
    },
  ],
  ['§6.10 CONTINUATION behind the end of its section', ErrorCode.protocolError, continuationAfterEnd],
  ['§6.10 CONTINUATION on stream 0', ErrorCode.protocolError, (c) => within(c, FrameType.continuation, endHeaders, 0)],
  [
    '§6.10 CONTINUATION on another stream',
    ErrorCode.protocolError,
    (c) => within(c, FrameType.continuation, endHeaders, 3),
  ],
]

function set(client: RawClient, id: number, value: number): void {
  client.send(FrameType.settings, 0, 0, settings([id, value]))
}

function within(
  client: RawClient,
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = Buffer.alloc(0),
): void {
  client.send(FrameType.headers, endStream, 1, literals(requestFields()))
  client.send(type, flags, streamId, payload)
}

function continuationAfterEnd(client: RawClient): void {
  client.headers(1, requestFields([], 'POST', '/wait'), open)
  client.send(FrameType.continuation, endHeaders, 1)
}

for (const [story, code, send] of connectionErrors) {
  test(`${story} ends the connection`, () =>
    withServer(async (server) => {
      const client = await server.client()
      await client.ping()
      await send(client)
      assert.equal(await client.goaway(), code)
      assert.equal(server.refusals.length, 1)
      const next = await server.client()
      await next.stillServes(1)
    }, answerUnlessWaiting))
}

const streamErrors: readonly Story[] = [
  [
    '§5.1 DATA on a half-closed stream',
    ErrorCode.streamClosed,
    (c) => {
      wait(c, endStream)
      c.data(1, 'x')
    },
  ],
  [
    '§5.1 HEADERS on a half-closed stream',
    ErrorCode.streamClosed,
    (c) => {
      wait(c, endStream)
      c.headers(1, requestFields())
    },
  ],
  [
    '§5.1 DATA on a closed stream',
    ErrorCode.streamClosed,
    async (c) => {
      await finishStream(c)
      c.data(1, 'x')
    },
  ],
  [
    '§5.3.1 a stream that depends on itself',
    ErrorCode.protocolError,
    (c) =>
      c.send(
        FrameType.headers,
        whole | priority,
        1,
        Buffer.concat([uint32(1), Buffer.from([0]), literals(requestFields())]),
      ),
  ],
  [
    '§5.3.1 PRIORITY that depends on itself',
    ErrorCode.protocolError,
    (c) => {
      wait(c, 0)
      c.send(FrameType.priority, 0, 1, Buffer.concat([uint32(1), Buffer.from([0])]))
    },
  ],
  [
    '§6.3 PRIORITY of a wrong size',
    ErrorCode.frameSizeError,
    (c) => {
      wait(c, 0)
      c.send(FrameType.priority, 0, 1, Buffer.alloc(4))
    },
  ],
  [
    '§6.9 a window increment of zero',
    ErrorCode.protocolError,
    (c) => {
      wait(c, 0)
      c.send(FrameType.windowUpdate, 0, 1, uint32(0))
    },
  ],
  [
    '§6.9.1 a stream window above the maximum',
    ErrorCode.flowControlError,
    (c) => {
      wait(c, 0)
      c.send(FrameType.windowUpdate, 0, 1, uint32(0x7fffffff))
    },
  ],
  [
    '§6.9.1 more DATA than the stream window',
    ErrorCode.flowControlError,
    (c) => {
      wait(c, 0)
      for (let sent = 0; sent <= 65_535; sent += 16_384) c.data(1, Buffer.alloc(16_384))
    },
  ],
  [
    '§8.1 trailers without END_STREAM',
    ErrorCode.protocolError,
    (c) => {
      wait(c, 0)
      c.headers(1, [['x', 'y']], 0)
    },
  ],
  [
    '§8.1 a pseudo-header in trailers',
    ErrorCode.protocolError,
    (c) => {
      wait(c, 0)
      c.headers(1, [[':method', 'GET']])
    },
  ],
  ...lengthStories(),
  ...malformed().map(([story, fields]): Story => [story, ErrorCode.protocolError, (c) => c.headers(1, fields)]),
]

function lengthStories(): Story[] {
  const announce = (c: RawClient, length: string) =>
    c.headers(1, requestFields([['content-length', length]], 'POST', '/wait'), 0)
  return [
    [
      '§8.1.1 a body longer than content-length',
      ErrorCode.protocolError,
      (c) => {
        announce(c, '5')
        c.data(1, '123456')
      },
    ],
    [
      '§8.1.1 a body shorter than content-length',
      ErrorCode.protocolError,
      (c) => {
        announce(c, '5')
        c.data(1, '1234', endStream)
      },
    ],
    [
      '§8.1.1 a body shorter than content-length that ends with trailers',
      ErrorCode.protocolError,
      (c) => {
        announce(c, '5')
        c.data(1, '1234')
        c.headers(1, [['x', 'y']])
      },
    ],
  ]
}

function malformed(): (readonly [story: string, fields: readonly Pair[]])[] {
  const without = (name: string) => requestFields().filter(([one]) => one !== name)
  const withField = (name: string, value: string) => requestFields([[name, value]])
  const replaced = (name: string, value: string) => [[name, value] as const, ...without(name)]
  return [
    ['§8.2.1 an upper-case field name', withField('X-Upper', 'v')],
    ['§8.2.1 a control byte in a field name', withField('x\x01', 'v')],
    ['§8.2.1 a space in a field name', withField('x y', 'v')],
    ['§8.2.1 an empty field name', withField('', 'v')],
    ['§8.2.1 obs-text in a field name', withField('x\xe4', 'v')],
    ['§8.2.1 a NUL in a field value', withField('x', 'a\0b')],
    ['§8.2.1 a carriage return in a field value', withField('x', 'a\rb')],
    ['§8.2.1 a line feed in a field value', withField('x', 'a\nb')],
    ['§8.2.1 a space before a field value', withField('x', ' a')],
    ['§8.2.1 a tab behind a field value', withField('x', 'a\t')],
    ['§8.2.2 connection', withField('connection', 'close')],
    ['§8.2.2 keep-alive', withField('keep-alive', '5')],
    ['§8.2.2 proxy-connection', withField('proxy-connection', 'close')],
    ['§8.2.2 transfer-encoding', withField('transfer-encoding', 'chunked')],
    ['§8.2.2 upgrade', withField('upgrade', 'websocket')],
    ['§8.2.2 te other than trailers', withField('te', 'gzip')],
    ['§8.3 an unknown pseudo-header', [[':unknown', 'v'], ...requestFields()]],
    ['§8.3 a response pseudo-header', [[':status', '200'], ...requestFields()]],
    ['§8.3 a pseudo-header behind a header', [['x', 'y'], ...requestFields()]],
    ['§8.3 a pseudo-header twice', [[':path', '/'], ...requestFields()]],
    ['§8.3.1 no :method', without(':method')],
    ['§8.3.1 no :scheme', without(':scheme')],
    ['§8.3.1 no :path', without(':path')],
    ['§8.3.1 an empty :path', replaced(':path', '')],
    ['§8.3.1 a :path that is a URL', replaced(':path', 'https://site.test/')],
    ['§8.3.1 an asterisk without OPTIONS', replaced(':path', '*')],
    ['§8.3.1 a space in :path', replaced(':path', '/a b')],
    ['§8.3.1 a fragment in :path', replaced(':path', '/a#b')],
    ['§8.3.1 a line feed in :path', replaced(':path', '/a\nb')],
    ['§8.3.1 an empty :authority', replaced(':authority', '')],
    ['§8.3.1 a space in :method', replaced(':method', 'GET /')],
    ['§8.3.1 an empty :method', replaced(':method', '')],
    ['§8.3.1 a :scheme that is not served', replaced(':scheme', 'ftp')],
    ['§8.5 CONNECT with :path', replaced(':method', 'CONNECT')],
    ['§8.5 CONNECT without :authority', [[':method', 'CONNECT']]],
    ['RFC 8441 :protocol that was not offered', [[':protocol', 'websocket'], ...replaced(':method', 'CONNECT')]],
    [
      '§8.1.1 two content-lengths',
      requestFields([
        ['content-length', '0'],
        ['content-length', '0'],
      ]),
    ],
    ['§8.1.1 a list of content-lengths', withField('content-length', '0, 0')],
    ['§8.1.1 a signed content-length', withField('content-length', '+0')],
    ['§8.1.1 a content-length without a body', withField('content-length', '5')],
  ]
}

for (const [story, code, send] of streamErrors) {
  test(`${story} resets its stream alone`, () =>
    withServer(async (server) => {
      const client = await server.client()
      await send(client)
      assert.equal(await client.resetOf(1), code)
      await client.stillServes(3)
      assert.equal(client.isClosed, false)
    }, answerUnlessWaiting))
}

const tolerated: readonly (readonly [story: string, send: (client: RawClient) => void | Promise<void>])[] = [
  [
    '§4.1 undefined flags and the reserved bit',
    (c) => c.send(FrameType.ping, 0xfe & ~ack, 0x80000000, Buffer.alloc(8)),
  ],
  ['§5.3.2 PRIORITY on an idle stream', (c) => c.send(FrameType.priority, 0, 9, Buffer.alloc(5))],
  ['§5.5 a frame of an unknown type', (c) => c.send(0xfa, 0xff, 1, Buffer.alloc(100))],
  ['§6.5.2 an unknown setting', (c) => c.send(FrameType.settings, 0, 0, settings([0xfafa, 0xffffffff]))],
  [
    '§6.5.2 the largest frame size',
    (c) => c.send(FrameType.settings, 0, 0, settings([Setting.maxFrameSize, 0xffffff])),
  ],
  [
    '§5.1 WINDOW_UPDATE and RST_STREAM on a stream that has just ended',
    async (c) => {
      await finishStream(c)
      c.send(FrameType.windowUpdate, 0, 1, uint32(10))
      c.send(FrameType.rstStream, 0, 1, uint32(0))
    },
  ],
  ['§8.2.2 te: trailers', (c) => c.headers(1, requestFields([['te', 'trailers']]))],
  ['§8.3.1 OPTIONS *', (c) => c.headers(1, requestFields([], 'OPTIONS', '*'))],
  ['§8.3.1 a host beside :authority', (c) => c.headers(1, requestFields([['host', 'site.test']]))],
  ['§8.2.1 obs-text in a value', (c) => c.headers(1, requestFields([['x', 'f\xfcr']]))],
  ['§8.1.1 content-length: 0 with END_STREAM', (c) => c.headers(1, requestFields([['content-length', '0']]))],
]

for (const [story, send] of tolerated) {
  test(`${story} is taken`, () =>
    withServer(async (server) => {
      const client = await server.client()
      await send(client)
      await client.stillServes(11)
      assert.equal(client.frames.filter((one) => one.type === FrameType.rstStream).length, 0)
    }, answerUnlessWaiting))
}

test('§3.4 something else than the preface ends the connection', () =>
  withServer(async (server) => {
    const client = await server.silentClient()
    client.write(Buffer.from('GET / HTTP/1.1\r\nHost: site.test\r\n\r\n'))
    assert.equal(await client.goaway(), ErrorCode.protocolError)
  }))

test('§3.4 a first frame other than SETTINGS ends the connection', () =>
  withServer(async (server) => {
    const client = await server.silentClient()
    client.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
    client.headers(1, requestFields())
    assert.equal(await client.goaway(), ErrorCode.protocolError)
    assert.equal(server.seen.length, 0)
  }))

test('§3.4, §6.5.3 SETTINGS are sent first and acknowledged, PING is answered with its payload', () =>
  withServer(async (server) => {
    const client = await server.client()
    await client.frame((one) => one.type === FrameType.settings && one.flags === ack, 'an acknowledgement')
    assert.equal(client.frames[0]?.type, FrameType.settings)
    assert.equal(client.frames[0]?.flags, 0)
    client.send(FrameType.ping, 0, 0, Buffer.from('12345678'))
    const pong = await client.frame((one) => one.type === FrameType.ping, 'a PING')
    assert.deepEqual([pong.flags, pong.payload.toString()], [ack, '12345678'])
  }))

test('§4.3 a refused head leaves the tables right', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      // Indexed: a malformed name, then a good field; the second request refers to the good one.
      const good = Buffer.concat([Buffer.from([0x40, 3]), Buffer.from('x-a'), Buffer.from([1]), Buffer.from('b')])
      const bad = Buffer.concat([Buffer.from([0x40, 1]), Buffer.from('X'), Buffer.from([1]), Buffer.from('v')])
      client.send(FrameType.headers, whole, 1, Buffer.concat([literals(requestFields()), bad, good]))
      assert.equal(await client.resetOf(1), ErrorCode.protocolError)
      client.send(FrameType.headers, whole, 3, Buffer.concat([literals(requestFields()), Buffer.from([0xbe])]))
      await client.answer(3)
      assert.deepEqual(server.seen[0]?.lines, ['x-a: b'])
      assert.equal(server.refusals[0]?.failure.code, 'bad_header')
      assert.equal(server.refusals[0]?.target, '/')
    },
    (downstream) => downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, undefined),
  ))
