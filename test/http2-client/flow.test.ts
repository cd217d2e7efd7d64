// Windows in both directions: bodies stop where their reader stops, and nobody waits for his neighbour.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Flag, FrameType, readUint31, Setting } from '../../src/http2/frames.js'
import { ChunkSource } from '../http2/harness.js'
import { until } from '../support/deadline.js'
import { heapBytes } from '../support/heap.js'
import { settings, uint32 } from '../support/http2-client.js'
import { HandSource, type Rig, withRig } from './rig.js'

const { endStream } = Flag
const chunk = Buffer.alloc(16_384, 'x')

async function settled(rig: Rig): Promise<void> {
  await rig.endpoint.frame((one) => one.type === FrameType.settings && one.flags === Flag.ack, 'an acknowledgement')
}

async function settledCapacity(rig: Rig): Promise<void> {
  await until('the endpoint has spoken', () => rig.connection.capacity === 1000)
}

function* freshChunks(count: number): Iterable<Buffer> {
  for (let made = 0; made < count; made++) yield Buffer.allocUnsafeSlow(16_384)
}

/** What the client has granted on a stream beyond its first window. */
function granted(rig: Rig, streamId: number): number {
  const updates = rig.endpoint.frames.filter((one) => one.type === FrameType.windowUpdate && one.streamId === streamId)
  return updates.reduce((sum, one) => sum + readUint31(one.payload, 0), 0)
}

test('an upload stops at the window of its stream, its source is told, and it goes on with the next one', () =>
  withRig(
    async (rig) => {
      await settled(rig)
      rig.endpoint.creditsWindows = false
      const body = new ChunkSource(Array.from({ length: 64 }, () => chunk))
      await rig.ask({ method: 'PUT', body }, 1)
      await until('the window is used up', () => rig.endpoint.received(1).length === 1000)
      const { given } = body
      assert.ok(given < 64, 'the source has stopped')
      rig.endpoint.send(FrameType.windowUpdate, 0, 1, uint32(500))
      await until('the next part has come', () => rig.endpoint.received(1).length === 1500)
      assert.equal(body.given, given)
      rig.endpoint.send(FrameType.windowUpdate, 0, 1, uint32(1 << 20))
      rig.endpoint.send(FrameType.windowUpdate, 0, 0, uint32(1 << 20))
      await until('all has come', () => rig.endpoint.hasEnded(1))
      assert.equal(rig.endpoint.received(1).length, 64 * chunk.length)
    },
    { hello: [[Setting.initialWindowSize, 1000]] },
  ))

test('a smaller initial window also shrinks the windows of open streams, below zero', () =>
  withRig(async (rig) => {
    rig.endpoint.creditsWindows = false
    const body = new HandSource()
    await rig.ask({ method: 'PUT', body }, 1)
    body.sink.write(Buffer.alloc(1000))
    await until('a part has come', () => rig.endpoint.received(1).length === 1000)
    rig.endpoint.send(FrameType.settings, 0, 0, settings([Setting.initialWindowSize, 500]))
    await rig.endpoint.ping()
    body.sink.write(Buffer.alloc(100))
    rig.endpoint.send(FrameType.windowUpdate, 0, 1, uint32(550))
    await until('fifty more may come', () => rig.endpoint.received(1).length === 1050)
  }))

test('an upload without a window does not hold up its neighbour', () =>
  withRig(async (rig) => {
    rig.endpoint.creditsWindows = false
    await rig.ask({ method: 'PUT', body: new ChunkSource([Buffer.alloc(70_000)]) }, 1)
    await until('the connection window is used up', () => rig.endpoint.received(1).length === 65_535)
    await rig.ask({ method: 'PUT', body: new ChunkSource([Buffer.from('small')]) }, 3)
    rig.endpoint.send(FrameType.windowUpdate, 0, 0, uint32(5))
    await until('the neighbour is through', () => rig.endpoint.hasEnded(3))
    assert.equal(rig.endpoint.received(3).toString(), 'small')
  }))

test('the end of a request needs no window', () =>
  withRig(
    async (rig) => {
      await settled(rig)
      const body = new HandSource()
      await rig.ask({ method: 'PUT', body }, 1)
      body.sink.end(undefined)
      await until('the request ends', () => rig.endpoint.hasEnded(1))
    },
    { hello: [[Setting.initialWindowSize, 0]] },
  ))

test('a client that does not read stops the endpoint at one window, and its neighbour goes on', () =>
  withRig(async (rig) => {
    const unread = rig.send()
    unread.sink.isFull = true
    const read = rig.send()
    await rig.endpoint.request(3)
    rig.endpoint.respond(1, 200)
    rig.endpoint.respond(3, 200)
    for (let count = 0; count < 3; count++) rig.endpoint.data(1, chunk)
    await until('the window is filled', () => unread.sink.bytes === 3 * chunk.length)
    assert.equal(granted(rig, 1), 0)
    let sent = 0
    while (sent < 64) {
      await until('there is a window', () => 65_535 + granted(rig, 3) - sent * chunk.length >= chunk.length)
      rig.endpoint.data(3, chunk, ++sent === 64 ? endStream : 0)
    }
    await read.whole()
    assert.equal(read.sink.bytes, 64 * chunk.length)
    unread.sink.isFull = false
    unread.body?.resume()
    await until('the window opens again', () => granted(rig, 1) > 0)
  }))

test('an endpoint that does not read gets no more requests, until it reads again', () =>
  withRig(async (rig) => {
    rig.endpoint.socket.pause()
    const fields = [['x-large', '~'.repeat(60_000)]] as const
    await settledCapacity(rig)
    while (rig.connection.capacity > 0) {
      for (let count = 0; count < 10; count++) rig.send({ fields })
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.ok(rig.connection.active < 1000)
    const { available } = rig.owner
    rig.endpoint.socket.resume()
    await until('there is room again', () => rig.connection.capacity > 0)
    assert.ok(rig.owner.available > available)
  }))

test('a body of tiny chunks that waits costs little more than its bytes, and arrives as it was', () =>
  withRig(
    async (rig) => {
      await settled(rig)
      const bytes = Buffer.alloc(60_000, 'abcdefghijklmnopqrstuvwxyz')
      const body = new HandSource()
      await rig.ask({ method: 'PUT', body }, 1)
      rig.endpoint.creditsWindows = false
      const before = heapBytes()
      for (let at = 0; at < bytes.length; at++) body.sink.write(bytes.subarray(at, at + 1))
      const grown = heapBytes() - before
      assert.ok(grown < 1 << 20, `${grown} bytes more`)
      let sent = 0
      for (const step of [1, 40, 5000, 16_384]) {
        rig.endpoint.send(FrameType.windowUpdate, 0, 1, uint32(step))
        sent += step
        await until('a part has come', () => rig.endpoint.received(1).length === sent)
        body.sink.write(Buffer.from(String(step)))
        body.sink.write(Buffer.alloc(2000, '-'))
      }
      body.sink.end(undefined)
      for (const id of [0, 1]) rig.endpoint.send(FrameType.windowUpdate, 0, id, uint32(1 << 20))
      await until('all has come', () => rig.endpoint.hasEnded(1))
      const steps = [1, 40, 5000, 16_384].map((step) => `${step}${'-'.repeat(2000)}`).join('')
      assert.ok(rig.endpoint.received(1).equals(Buffer.concat([bytes, Buffer.from(steps)])))
    },
    { hello: [[Setting.initialWindowSize, 0]] },
  ))

test('a long body whose queue is never empty is not kept behind its back', () =>
  withRig(
    async (rig) => {
      await settled(rig)
      rig.endpoint.creditsWindows = false
      const body = new ChunkSource(freshChunks(4000))
      await rig.ask({ method: 'PUT', body }, 1)
      for (let count = 0; count < 2000; count++) {
        for (const id of [0, 1]) rig.endpoint.send(FrameType.windowUpdate, 0, id, uint32(16_384))
        await until('a part has come', () => rig.endpoint.frames.some((one) => one.type === FrameType.data))
        rig.endpoint.frames.length = 0
      }
      // All in all 32 MiB have passed; what the collector has not looked at yet goes with its next rounds.
      await until('what has left is forgotten', () => heapBytes() > 0 && process.memoryUsage().arrayBuffers < 8 << 20)
    },
    { hello: [[Setting.initialWindowSize, 0]] },
  ))

test('a body that nobody has taken yet waits, within one window', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    recorded.takesBody = false
    rig.endpoint.respond(1, 200)
    rig.endpoint.data(1, 'early', endStream)
    await recorded.final()
    await until('the stream has ended', () => rig.connection.active === 0)
    recorded.body?.flow(recorded.sink)
    await recorded.whole()
    assert.equal(recorded.sink.text, 'early')
    assert.equal(recorded.sink.ended, 'end')
  }))

test('the window of a body that is read as fast as it comes grows, up to its bound', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.endpoint.respond(1, 200)
    let sent = 0
    for (let count = 0; count < 512; count++) {
      await until('there is a window', () => 65_535 + granted(rig, 1) - sent >= chunk.length)
      rig.endpoint.data(1, chunk)
      sent += chunk.length
    }
    await until('all has come', () => recorded.sink.bytes === sent)
    const open = 65_535 + granted(rig, 1) - sent
    assert.ok(open > 400_000 && open <= 1_048_576, `${open}`)
  }))

test('both directions at once: what comes goes back, message by message', () =>
  withRig(async (rig) => {
    const body = new HandSource()
    const recorded = await rig.ask({ method: 'POST', body }, 1)
    rig.endpoint.respond(1, 200)
    for (let count = 1; count <= 20; count++) {
      body.sink.write(Buffer.from(`message ${count};`))
      await until('the message has come', () => rig.endpoint.received(1).toString().endsWith(`message ${count};`))
      rig.endpoint.data(1, `answer ${count};`)
      await until('the answer has come', () => recorded.sink.text.endsWith(`answer ${count};`))
    }
    body.sink.end(undefined)
    await until('the request ends', () => rig.endpoint.hasEnded(1))
    rig.endpoint.headers(1, [['grpc-status', '0']], endStream)
    await recorded.whole()
    assert.deepEqual(recorded.sink.trailers, [['grpc-status', '0']])
  }))
