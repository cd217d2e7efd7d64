// Requests and answers over HTTP/2 as honest clients make them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Flag, FrameType } from '../../src/http2/frames.js'
import { frameBytes, literals, type Pair, requestFields } from '../support/http2-client.js'
import { answerEcho, ChunkSource, CountingSink, fieldsOf, withServer } from './harness.js'

test('a GET reaches the handler whole and its answer comes in one head and its body', () =>
  withServer(async (server) => {
    const client = await server.client()
    client.headers(
      1,
      requestFields(
        [
          ['accept', '*/*'],
          ['x-a', 'b'],
        ],
        'GET',
        '/a?b=c',
      ),
    )
    const answer = await client.answer(1)
    assert.equal(answer.status, '200')
    assert.equal(answer.body.toString(), 'hello\n')
    assert.deepEqual(server.seen, [
      { method: 'GET', target: '/a?b=c', authority: 'site.test', lines: ['accept: */*', 'x-a: b'] },
    ])
    assert.deepEqual(server.ends, ['sent'])
  }))

test('bytes that come one at a time make the same requests', () =>
  withServer(async (server) => {
    const client = await server.silentClient()
    const request = Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      frameBytes(FrameType.settings, 0, 0),
      frameBytes(FrameType.headers, Flag.endHeaders, 1, literals(requestFields([['content-length', '5']], 'POST'))),
      frameBytes(FrameType.data, Flag.padded, 1, Buffer.from('\x03hel\0\0\0')),
      frameBytes(FrameType.data, Flag.endStream, 1, Buffer.from('lo')),
    ])
    for (const byte of request) client.write(Buffer.from([byte]))
    assert.equal((await client.answer(1)).body.toString(), 'hello')
  }, answerEcho))

test('a field section over HEADERS and CONTINUATION is one head', () =>
  withServer(async (server) => {
    const client = await server.client()
    const section = literals(requestFields([['x-long', 'v'.repeat(40_000)]]))
    client.send(FrameType.headers, Flag.endStream, 1, section.subarray(0, 100))
    client.send(FrameType.continuation, 0, 1, section.subarray(100, 16_000))
    client.send(FrameType.continuation, 0, 1, section.subarray(16_000, 32_000))
    client.send(FrameType.continuation, Flag.endHeaders, 1, section.subarray(32_000))
    await client.answer(1)
    assert.equal(server.seen[0]?.lines[0]?.length, 40_008)
  }))

test('HEADERS may be padded and carry a priority', () =>
  withServer(async (server) => {
    const client = await server.client()
    const payload = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 16]), literals(requestFields()), Buffer.alloc(2)])
    client.send(FrameType.headers, Flag.endStream | Flag.endHeaders | Flag.padded | Flag.priority, 1, payload)
    assert.equal((await client.answer(1)).status, '200')
  }))

test('cookie crumbs reach the handler as one line', () =>
  withServer(async (server) => {
    const client = await server.client()
    client.headers(
      1,
      requestFields([
        ['cookie', 'a=1'],
        ['x', 'y'],
        ['cookie', 'b=2'],
        ['cookie', 'c=3'],
      ]),
    )
    await client.answer(1)
    assert.deepEqual(server.seen[0]?.lines, ['x: y', 'cookie: a=1; b=2; c=3'])
  }))

test('trailers pass both ways', () =>
  withServer(async (server) => {
    const client = await server.client()
    client.headers(1, requestFields([], 'POST'), 0)
    client.data(1, 'body')
    client.headers(1, [['x-checksum', 'abc']])
    const answer = await client.answer(1)
    assert.equal(answer.body.toString(), 'body')
    assert.deepEqual(answer.trailers, [['x-checksum', 'abc']])
  }, answerEcho))

test('informational heads pass before the answer, and none after it', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([['expect', '100-continue']], 'POST'), 0)
      await client.frame((one) => one.fields[0]?.[1] === '100', 'a 100')
      client.data(1, 'go', Flag.endStream)
      assert.equal((await client.answer(1)).body.toString(), 'hi')
      const statuses = client.frames.flatMap((one) => (one.type === FrameType.headers ? [one.fields[0]?.[1]] : []))
      assert.deepEqual(statuses, ['100', '103', '200'])
    },
    (downstream) => {
      assert.equal(downstream.request.expectsContinue, true)
      downstream.inform({ status: 100, reason: '', headers: fieldsOf() })
      downstream.inform({ status: 101, reason: '', headers: fieldsOf() })
      downstream.inform({ status: 103, reason: '', headers: fieldsOf(['link', '</a.css>; rel=preload']) })
      downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, new ChunkSource([Buffer.from('hi')]))
      downstream.inform({ status: 103, reason: '', headers: fieldsOf() })
    },
  ))

const bodyless: readonly (readonly [method: string, status: number])[] = [
  ['HEAD', 200],
  ['GET', 204],
  ['GET', 304],
]
for (const [method, status] of bodyless) {
  test(`the answer to ${method} with ${status} has no body and ends with its head`, () =>
    withServer(
      async (server) => {
        const client = await server.client()
        client.headers(1, requestFields([], method))
        const answer = await client.answer(1)
        assert.equal(answer.body.length, 0)
        assert.equal(client.frames.filter((one) => one.type === FrameType.data).length, 0)
      },
      (downstream) => downstream.respond({ status, reason: '', headers: fieldsOf() }, undefined),
    ))
}

test('a head larger than a frame is continued', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields())
      const last = await client.frame((one) => one.fields.length > 0, 'the end of the head')
      assert.equal(last.type, FrameType.continuation)
      assert.equal(last.fields[1]?.[1].length, 30_000)
    },
    (downstream) => {
      const value = Array.from({ length: 30_000 }, (_, index) => String.fromCharCode(0x80 + (index % 100))).join('')
      downstream.respond({ status: 200, reason: '', headers: fieldsOf(['x-long', value]) }, undefined)
    },
  ))

test('a hundred streams in one write all get their own answer', () =>
  withServer(
    async (server) => {
      const client = await server.client()
      const requests = Array.from({ length: 100 }, (_, index) =>
        frameBytes(
          FrameType.headers,
          Flag.endStream | Flag.endHeaders,
          index * 2 + 1,
          literals(requestFields([], 'GET', `/${index}`)),
        ),
      )
      client.write(Buffer.concat(requests))
      for (let index = 0; index < 100; index++) {
        assert.equal((await client.answer(index * 2 + 1)).body.toString(), `/${index}`)
      }
    },
    (downstream) => {
      const body = new ChunkSource([Buffer.from(downstream.request.target)])
      downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, body)
    },
  ))

test('an answer before the end of the request is whole, and the rest of the request is not wanted', () => {
  const sink = new CountingSink()
  return withServer(
    async (server) => {
      const client = await server.client()
      client.headers(1, requestFields([], 'POST'), 0)
      client.data(1, 'first part')
      assert.equal((await client.answer(1)).status, '413')
      assert.equal(await client.resetOf(1), 0)
      assert.equal(sink.ended, 'abort')
      client.data(1, 'sent before the reset arrived')
      client.headers(1, [['trailer', 'too']])
      await client.stillServes(3)
      assert.equal(sink.bytes <= 10, true)
    },
    (downstream) => {
      downstream.request.body?.flow(sink)
      downstream.respond({ status: 413, reason: '', headers: fieldsOf() }, undefined)
    },
  )
})

const tooLarge: readonly (readonly [status: string, fields: Pair[]])[] = [
  ['431', requestFields([['x-long', 'v'.repeat(65_536)]])],
  ['431', requestFields(Array.from({ length: 257 }, (_, index): Pair => [`x-${index}`, 'v']))],
  ['414', requestFields([], 'GET', `/${'p'.repeat(16_384)}`)],
  ['417', requestFields([['expect', 'miracles']])],
  [
    '501',
    [
      [':method', 'CONNECT'],
      [':authority', 'site.test:443'],
    ],
  ],
]
for (const [status, fields] of tooLarge) {
  test(`what is merely too much is answered ${status}, and the connection goes on`, () =>
    withServer(async (server) => {
      const client = await server.client()
      const section = literals(fields)
      client.send(FrameType.headers, Flag.endStream, 1, section.subarray(0, 10))
      for (let at = 10; at < section.length; at += 16_384) {
        const flags = at + 16_384 >= section.length ? Flag.endHeaders : 0
        client.send(FrameType.continuation, flags, 1, section.subarray(at, at + 16_384))
      }
      assert.equal((await client.answer(1)).status, status)
      assert.equal(server.refusals[0]?.status, Number(status))
      await client.stillServes(3)
      assert.equal(server.seen.length, 1)
    }))
}

test('a head just inside the limits is served', () =>
  withServer(async (server) => {
    const client = await server.client()
    client.headers(1, requestFields(Array.from({ length: 256 }, (_, index): Pair => [`x-${index}`, 'v'])))
    assert.equal((await client.answer(1)).status, '200')
    client.headers(3, requestFields([], 'GET', `/${'p'.repeat(16_000)}`))
    assert.equal((await client.answer(3)).status, '200')
  }))
