// What a request looks like on the wire, and how answers of every shape arrive.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import { Failure } from '../../src/wire/failure.js'
import { ChunkSource, fieldsOf } from '../http2/harness.js'
import { until } from '../support/deadline.js'
import { uint32 } from '../support/http2-client.js'
import { HandSource, withRig } from './rig.js'

test('the preface and SETTINGS come first: no push, windows and header bounds announced', () =>
  withRig(async ({ endpoint }) => {
    const first = await endpoint.frame(() => true, 'a first frame')
    assert.equal(first.type, FrameType.settings)
    const announced = new Map<number, number>()
    for (let at = 0; at < first.payload.length; at += 6) {
      announced.set(first.payload.readUInt16BE(at), first.payload.readUInt32BE(at + 2))
    }
    assert.equal(announced.get(Setting.enablePush), 0)
    assert.equal(announced.get(Setting.initialWindowSize), 65_535)
    assert.equal(announced.get(Setting.maxHeaderListSize), 65_536)
    const grown = await endpoint.frame((one) => one.type === FrameType.windowUpdate, 'a window')
    assert.equal(grown.streamId, 0)
  }))

test('the SETTINGS of the endpoint are acknowledged, and its PINGs answered', () =>
  withRig(async ({ endpoint }) => {
    await endpoint.frame((one) => one.type === FrameType.settings && one.flags === Flag.ack, 'an acknowledgement')
    await endpoint.ping()
  }))

test('requests go out at once, before the endpoint has said a word, on odd ids in order', () =>
  withRig(
    async (rig) => {
      rig.send({ path: '/first' })
      rig.send({ path: '/second' })
      const first = await rig.endpoint.request(1)
      const second = await rig.endpoint.request(3)
      assert.deepEqual(first.fields, [
        [':method', 'GET'],
        [':scheme', 'http'],
        [':authority', 'site.test'],
        [':path', '/first'],
      ])
      assert.equal(first.flags, Flag.endHeaders | Flag.endStream)
      assert.deepEqual(second.fields[3], [':path', '/second'])
    },
    { hello: 'silent' },
  ))

test('lines of a request pass as they are; secrets are never indexed, what repeats is', () =>
  withRig(async (rig) => {
    const fields = [
      ['te', 'trailers'],
      ['authorization', 'Bearer secret'],
      ['x-repeated', 'the same value every time'],
    ] as const
    const sizes: number[] = []
    for (let count = 0; count < 4; count++) {
      rig.send({ method: 'POST', path: '/same', fields })
      const head = await rig.endpoint.request(1 + count * 2)
      assert.deepEqual(head.fields.slice(4), fields)
      sizes.push(head.payload.length)
      // RFC 7541 §6.2.3: 0x1f 0x08 is the name at index 23, never indexed.
      assert.ok(head.payload.includes(Buffer.from([0x1f, 0x08])))
    }
    assert.ok((sizes[3] as number) < (sizes[0] as number) / 2, `${sizes}`)
  }))

test('an answer with a body and trailers arrives whole', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.endpoint.respond(1, 200, [['content-type', 'text/plain']])
    rig.endpoint.data(1, 'hello ')
    rig.endpoint.data(1, 'world')
    rig.endpoint.headers(1, [['grpc-status', '0']], Flag.endStream)
    await recorded.whole()
    assert.equal(recorded.status, 200)
    assert.deepEqual(recorded.lines, [['content-type', 'text/plain']])
    assert.equal(recorded.sink.text, 'hello world')
    assert.deepEqual(recorded.sink.trailers, [['grpc-status', '0']])
    assert.deepEqual(rig.owner.answered, [200])
    assert.equal(rig.connection.active, 0)
    assert.ok(rig.owner.available > 0)
  }))

test('an answer of trailers only has no body', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({ method: 'POST', body: new ChunkSource([Buffer.from('x')]) }, 1)
    rig.endpoint.respond(1, 200, [['grpc-status', '12']], Flag.endStream)
    await recorded.final()
    assert.equal(recorded.body, undefined)
    assert.deepEqual(recorded.lines, [['grpc-status', '12']])
  }))

for (const [status, method] of [
  [200, 'HEAD'],
  [204, 'GET'],
  [304, 'GET'],
] as const) {
  test(`a ${status} to ${method} has no body, whatever its content-length says, and its stream ends with END_STREAM`, () =>
    withRig(async (rig) => {
      const recorded = await rig.ask({ method }, 1)
      rig.endpoint.respond(1, status, [['content-length', '5']])
      await recorded.final()
      assert.equal(recorded.body, undefined)
      assert.equal(rig.connection.active, 1)
      rig.endpoint.data(1, '', Flag.endStream)
      await until('the stream ends', () => rig.connection.active === 0)
      await rig.stillServes(3)
    }))
}

test('informational heads pass, in order, before the answer', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    for (const status of [100, 102, 103]) rig.endpoint.respond(1, status)
    rig.endpoint.respond(1, 200, [], Flag.endStream)
    await recorded.final()
    assert.deepEqual(recorded.informational, [100, 102, 103])
    assert.equal(recorded.status, 200)
  }))

test('a body goes out with its length and its trailers', () =>
  withRig(async (rig) => {
    const trailers = fieldsOf(['x-checksum', 'abc'])
    const body = new ChunkSource([Buffer.from('one '), Buffer.from('two')], { lengthBytes: 7, trailers })
    rig.send({ method: 'PUT', body })
    const head = await rig.endpoint.request(1)
    assert.deepEqual(head.fields.at(-1), ['content-length', '7'])
    await until('the request ends', () => rig.endpoint.hasEnded(1))
    assert.equal(rig.endpoint.received(1).toString(), 'one two')
    assert.deepEqual(rig.endpoint.frames.at(-1)?.fields, [['x-checksum', 'abc']])
  }))

test('a length that the client gave is not said twice', () =>
  withRig(async (rig) => {
    const body = () => new ChunkSource([Buffer.from('abc')], { lengthBytes: 3 })
    rig.send({ method: 'PUT', fields: [['content-length', '3']], body: body() })
    const head = await rig.endpoint.request(1)
    assert.deepEqual(head.fields.slice(4), [['content-length', '3']])
  }))

test('a head larger than a frame continues', () =>
  withRig(async (rig) => {
    const value = '~'.repeat(20_000)
    rig.send({ fields: [['x-large', value]] })
    const last = await rig.endpoint.frame((one) => one.type === FrameType.continuation, 'a CONTINUATION')
    assert.deepEqual(last.fields.at(-1), ['x-large', value])
  }))

test("the endpoint's table size is kept to", () =>
  withRig(
    async (rig) => {
      await rig.endpoint.frame((one) => one.type === FrameType.settings && one.flags === Flag.ack, 'an acknowledgement')
      for (let count = 0; count < 3; count++) {
        rig.send({ fields: [['x-repeated', 'the same value every time']] })
        const head = await rig.endpoint.request(1 + count * 2)
        assert.deepEqual(head.fields.at(-1), ['x-repeated', 'the same value every time'])
      }
      const [first, third] = [await rig.endpoint.request(1), await rig.endpoint.request(5)]
      // RFC 7541 §4.2: the new size is said first.
      assert.equal(first.payload[0], 0x20)
      assert.equal(third.payload.length, first.payload.length - 1)
    },
    { hello: [[Setting.headerTableSize, 0]] },
  ))

test('a cancelled attempt resets its stream with CANCEL, hears nothing more, and the connection goes on', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    recorded.attempt?.cancel()
    assert.equal(await rig.endpoint.resetOf(1), ErrorCode.cancel)
    rig.endpoint.respond(1, 200)
    rig.endpoint.data(1, 'too late', Flag.endStream)
    await rig.stillServes(3)
    assert.equal(recorded.finals, 0)
    assert.deepEqual(rig.owner.failed, [])
  }))

test('an attempt that is cancelled in the middle of its body tells the sink nothing more', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.endpoint.respond(1, 200)
    rig.endpoint.data(1, 'some')
    await until('some has come', () => recorded.sink.bytes === 4)
    recorded.attempt?.cancel()
    assert.equal(await rig.endpoint.resetOf(1), ErrorCode.cancel)
    await rig.stillServes(3)
    assert.equal(recorded.sink.ended, 'no')
  }))

test('a body that nobody wants any more is refused with CANCEL', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.endpoint.respond(1, 200)
    rig.endpoint.data(1, 'some')
    const { body } = await recorded.final()
    body?.abort(new Failure('client_gone', 'nobody reads'))
    assert.equal(await rig.endpoint.resetOf(1), ErrorCode.cancel)
    assert.deepEqual(rig.owner.failed, [])
    await rig.stillServes(3)
  }))

test('an upload that breaks off resets its stream: half a request never looks like a whole one', () =>
  withRig(async (rig) => {
    const body = new HandSource()
    const recorded = await rig.ask({ method: 'POST', body }, 1)
    body.sink.write(Buffer.from('half'))
    await until('half has come', () => rig.endpoint.received(1).length === 4)
    body.sink.abort(new Failure('client_gone', 'the client left'))
    assert.equal(await rig.endpoint.resetOf(1), ErrorCode.cancel)
    assert.equal(rig.endpoint.hasEnded(1), false)
    assert.equal((await recorded.final()).failure?.code, 'client_gone')
    assert.deepEqual(rig.owner.failed, [])
    await rig.stillServes(3)
  }))

test('an answer before the end of the request stops the upload, and is not harmed by the reset that follows', () =>
  withRig(async (rig) => {
    const body = new ChunkSource(Array.from({ length: 100 }, () => Buffer.alloc(16_384)))
    rig.endpoint.creditsWindows = false
    const recorded = await rig.ask({ method: 'POST', body }, 1)
    rig.endpoint.respond(1, 413)
    rig.endpoint.data(1, 'too large', Flag.endStream)
    rig.endpoint.reset(1, ErrorCode.noError)
    await recorded.whole()
    assert.equal(recorded.status, 413)
    assert.equal(recorded.sink.text, 'too large')
    assert.equal(recorded.sink.ended, 'end')
    assert.equal(await rig.endpoint.resetOf(1), ErrorCode.noError)
    assert.equal(body.aborted?.code, 'upstream_reset')
    rig.endpoint.send(FrameType.windowUpdate, 0, 0, uint32(1 << 20))
    await rig.stillServes(3)
  }))
