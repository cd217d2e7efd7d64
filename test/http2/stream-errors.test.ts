// Stream errors: what a client can break on one stream, with the code that resets it while the connection goes on; and
// what looks odd and must be taken.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import type { BodySink, BodySource } from '../../src/wire/body.js'
import { Failure } from '../../src/wire/failure.js'
import { literals, type RawClient, requestFields, settings, uint32 } from '../support/http2-client.js'
import { ChunkSource, fieldsOf, withServer } from './harness.js'
import { answerUnlessWaiting, finishStream, type Story, wait } from './stories.js'

const { endStream, endHeaders, priority, ack } = Flag
const whole = endHeaders | endStream

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
    '§5.1 DATA on a stream that the client has reset',
    ErrorCode.streamClosed,
    (c) => {
      wait(c, 0)
      c.send(FrameType.rstStream, 0, 1, uint32(8))
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
    '§6.9 more DATA than the stream window, padding counted',
    ErrorCode.flowControlError,
    (c) => {
      wait(c, 0)
      const part = Buffer.alloc(16_384)
      part[0] = 255
      for (let sent = 0; sent <= 65_535; sent += 16_384) c.send(FrameType.data, Flag.padded, 1, part)
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
  ...trailerStories(),
  ...lengthStories(),
]

function trailerStories(): Story[] {
  const fields: readonly (readonly [story: string, name: string, value: string])[] = [
    ['§8.2.1 an upper-case name in trailers', 'X-Upper', 'v'],
    ['§8.2.1 a line feed in a value of trailers', 'x', 'a\nb'],
    ['§8.2.2 transfer-encoding in trailers', 'transfer-encoding', 'chunked'],
    ['§8.3 an unknown pseudo-header in trailers', ':unknown', 'v'],
    ['§8.3 a response pseudo-header in trailers', ':status', '200'],
  ]
  return fields.map(([story, name, value]) => [
    story,
    ErrorCode.protocolError,
    (c) => {
      wait(c, 0)
      c.headers(1, [[name, value]])
    },
  ])
}

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
  ['§6.7 an acknowledgement of a PING that was never sent', (c) => c.send(FrameType.ping, ack, 0, Buffer.alloc(8))],
  [
    '§6.1 DATA of nothing but padding',
    (c) => {
      wait(c, 0)
      c.send(FrameType.data, Flag.padded, 1, Buffer.from([3, 0, 0, 0]))
    },
  ],
  [
    '§5.1 PRIORITY and WINDOW_UPDATE on a half-closed stream',
    (c) => {
      wait(c, endStream)
      c.send(FrameType.windowUpdate, 0, 1, uint32(1))
      c.send(FrameType.priority, 0, 1, Buffer.alloc(5))
    },
  ],
  [
    '§5.1 PRIORITY on a stream that has ended',
    async (c) => {
      await finishStream(c)
      c.send(FrameType.priority, 0, 1, Buffer.alloc(5))
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

test('§6.7 a PING that is an acknowledgement is not answered', () =>
  withServer(async (server) => {
    const client = await server.client()
    client.send(FrameType.ping, ack, 0, Buffer.from('unasked!'))
    await client.ping()
    assert.equal(client.frames.filter((one) => one.type === FrameType.ping).length, 1)
  }))

test('§6.5.3 of a setting that stands twice in a frame the last value counts, and the frame is acknowledged once', () =>
  withServer(async (server) => {
    const client = await server.client()
    await client.ping()
    const before = client.frames.length
    client.send(
      FrameType.settings,
      0,
      0,
      settings([Setting.initialWindowSize, 100_000], [Setting.initialWindowSize, 3]),
    )
    client.creditsWindows = false
    client.headers(1, requestFields())
    await client.ping()
    const since = client.frames.slice(before)
    assert.equal(since.filter((one) => one.type === FrameType.settings && one.flags === ack).length, 1)
    assert.equal(since.find((one) => one.type === FrameType.data)?.payload.length, 3)
  }))

test('§6.9.1 an end without bytes needs no window', () =>
  withServer(
    async (server) => {
      const client = await server.client([[Setting.initialWindowSize, 0]])
      client.headers(1, requestFields())
      assert.equal((await client.answer(1)).body.length, 0)
    },
    (downstream) => downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, new ChunkSource([])),
  ))

test('§5.4.2 a reset is not answered with a reset', () =>
  withServer(async (server) => {
    const client = await server.client()
    wait(client, 0)
    client.send(FrameType.rstStream, 0, 1, uint32(ErrorCode.protocolError))
    client.send(FrameType.rstStream, 0, 1, uint32(ErrorCode.protocolError))
    await client.stillServes(3)
    assert.equal(client.frames.filter((one) => one.type === FrameType.rstStream).length, 0)
  }, answerUnlessWaiting))

for (const [told, passed] of [
  [ErrorCode.cancel, ErrorCode.cancel],
  [ErrorCode.enhanceYourCalm, ErrorCode.enhanceYourCalm],
  [ErrorCode.refusedStream, ErrorCode.internalError],
  [4711, ErrorCode.internalError],
] as const) {
  test(`an endpoint that resets with ${told} in the middle of an answer resets the client's stream with ${passed}`, () =>
    withServer(
      async (server) => {
        const client = await server.client()
        client.headers(1, requestFields())
        assert.equal(await client.resetOf(1), passed)
      },
      (downstream) => {
        const source = new BrokenSource(new Failure('upstream_reset', 'told', { resetCode: told }))
        downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, source)
      },
    ))
}

/** A body that breaks off behind its first bytes. */
class BrokenSource implements BodySource {
  readonly lengthBytes = -1
  readonly #failure: Failure

  constructor(failure: Failure) {
    this.#failure = failure
  }

  flow(sink: BodySink): void {
    sink.write(Buffer.from('half'))
    sink.abort(this.#failure)
  }

  resume(): void {}

  abort(): void {}
}
