// Connection errors: every MUST of RFC 9113 that a client can break and that ends its connection, with the code.
// Stream errors and malformed messages have tables of their own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import { literals, type RawClient, requestFields, settings, uint32 } from '../support/http2-client.js'
import { withServer } from './harness.js'
import { answerUnlessWaiting, finishStream, type Story, wait } from './stories.js'

const { endStream, endHeaders, padded, priority, ack } = Flag
const open = endHeaders
const whole = endHeaders | endStream

const connectionErrors: Story[] = [
  ['§4.2 a frame larger than announced', ErrorCode.frameSizeError, (c) => c.data(1, Buffer.alloc(16_385))],
  [
    '§4.2 a frame of an unknown type larger than announced',
    ErrorCode.frameSizeError,
    (c) => c.send(0xfa, 0, 0, Buffer.alloc(16_385)),
  ],
  [
    '§4.2 HEADERS larger than announced',
    ErrorCode.frameSizeError,
    (c) => c.send(FrameType.headers, endStream, 1, Buffer.alloc(16_385)),
  ],
  [
    '§4.3 HPACK that cannot be read',
    ErrorCode.compressionError,
    (c) => c.send(FrameType.headers, whole, 1, Buffer.from([0x80])),
  ],
  [
    '§4.3 trailers that cannot be read',
    ErrorCode.compressionError,
    (c) => {
      wait(c, 0)
      c.send(FrameType.headers, whole, 1, Buffer.from([0x80]))
    },
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
  [
    '§5.1 HEADERS on a stream that the client has reset',
    ErrorCode.streamClosed,
    (c) => {
      wait(c, 0)
      c.send(FrameType.rstStream, 0, 1, uint32(8))
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
  [
    'RFC 9218 §7.1 PRIORITY_UPDATE on a stream',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.priorityUpdate, 0, 1, uint32(1)),
  ],
  [
    'RFC 9218 §7.1 PRIORITY_UPDATE of a wrong size',
    ErrorCode.frameSizeError,
    (c) => c.send(FrameType.priorityUpdate, 0, 0, Buffer.alloc(3)),
  ],
  [
    'RFC 9218 §7.1 PRIORITY_UPDATE of stream 0',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.priorityUpdate, 0, 0, uint32(0)),
  ],
  [
    'RFC 9218 §7.1 PRIORITY_UPDATE of a pushed stream',
    ErrorCode.protocolError,
    (c) => c.send(FrameType.priorityUpdate, 0, 0, uint32(2)),
  ],
  [
    'RFC 9218 §7.1 PRIORITY_UPDATE within a field section',
    ErrorCode.protocolError,
    (c) => within(c, FrameType.priorityUpdate, 0, 0, uint32(1)),
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

const { ping, settings: settingsType, windowUpdate, rstStream, goaway } = FrameType
for (const [name, type, streamId, bytes] of [
  ['SETTINGS', settingsType, 0, 0],
  ['PING', ping, 0, 8],
  ['GOAWAY', goaway, 0, 8],
  ['WINDOW_UPDATE', windowUpdate, 1, 4],
  ['RST_STREAM', rstStream, 1, 4],
  ['PUSH_PROMISE', FrameType.pushPromise, 1, 4],
] as const) {
  connectionErrors.push([
    `§6.10 ${name} within a field section`,
    ErrorCode.protocolError,
    (c) => within(c, type, 0, streamId, Buffer.alloc(bytes, 1)),
  ])
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

test('§3.4 an acknowledgement of SETTINGS before any ends the connection', () =>
  withServer(async (server) => {
    const client = await server.silentClient()
    client.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
    client.send(FrameType.settings, ack, 0)
    assert.equal(await client.goaway(), ErrorCode.protocolError)
    await (await server.client()).stillServes(1)
  }))
