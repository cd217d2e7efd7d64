// How connections end, and what becomes of the requests on them: processed or not, answered or not, now or never.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import { ChunkSource } from '../http2/harness.js'
import { until } from '../support/deadline.js'
import { settings } from '../support/http2-client.js'
import { HandSource, type RecordedAttempt, withRig } from './rig.js'

const { endStream } = Flag

test('GOAWAY: streams above its last one were not processed, those below finish, then the connection closes', () =>
  withRig(async (rig) => {
    const below = await rig.ask({}, 1)
    const above = await rig.ask({ method: 'POST', body: new HandSource() }, 3)
    rig.endpoint.sayGoodbye(1, ErrorCode.noError, 'deploy \x01')
    await above.final()
    assert.equal(above.failure?.code, 'upstream_reset')
    assert.equal(above.failure?.retry, 'always')
    assert.equal(above.failure?.detail, 'the endpoint said goodbye: NO_ERROR deploy ?')
    await rig.isGone()
    assert.equal(rig.connection.active, 1)
    rig.endpoint.respond(1, 200, [], endStream)
    assert.equal((await below.final()).status, 200)
    assert.equal(await rig.endpoint.farewell(), ErrorCode.noError)
    assert.deepEqual(rig.owner.failed, [], 'a goodbye says nothing against the endpoint')
  }))

test('GOAWAY in two steps: the first takes no stream away, the second those that came too late', () =>
  withRig(async (rig) => {
    const served = await rig.ask({}, 1)
    const late = await rig.ask({}, 3)
    rig.endpoint.sayGoodbye(0x7fffffff)
    await rig.isGone()
    assert.equal(rig.connection.active, 2)
    rig.endpoint.sayGoodbye(1)
    assert.equal((await late.final()).failure?.retry, 'always')
    rig.endpoint.respond(1, 200, [], endStream)
    assert.equal((await served.final()).status, 200)
    await rig.endpoint.farewell()
  }))

test('GOAWAY on an unused connection ends it', () =>
  withRig(async (rig) => {
    rig.endpoint.sayGoodbye(0)
    await rig.isGone()
    assert.equal(await rig.endpoint.farewell(), ErrorCode.noError)
  }))

test('a request that comes too late for a connection is never sent, and may be sent elsewhere', () =>
  withRig(async (rig) => {
    await rig.ask({}, 1)
    rig.endpoint.sayGoodbye(1)
    await rig.isGone()
    const late = rig.send({ method: 'POST' })
    assert.equal(late.finals, 0, 'nobody hears of an attempt before it has it')
    assert.equal((await late.final()).failure?.retry, 'always')
  }))

test('a refused stream was not processed', () =>
  withRig(async (rig) => {
    const refused = await rig.ask({ method: 'POST' }, 1)
    rig.endpoint.reset(1, ErrorCode.refusedStream)
    await refused.final()
    assert.equal(refused.failure?.code, 'upstream_reset')
    assert.equal(refused.failure?.retry, 'always')
    assert.equal(refused.failure?.suspect, 'connection')
    await rig.stillServes(3)
  }))

test('a stream refused behind an informational head was looked at', () =>
  withRig(async (rig) => {
    const refused = await rig.ask({}, 1)
    rig.endpoint.respond(1, 103)
    rig.endpoint.reset(1, ErrorCode.refusedStream)
    assert.equal((await refused.final()).failure?.retry, 'never')
  }))

for (const [name, code] of [
  ['CANCEL', ErrorCode.cancel],
  ['INTERNAL_ERROR', ErrorCode.internalError],
  ['ENHANCE_YOUR_CALM', ErrorCode.enhanceYourCalm],
  ['HTTP_1_1_REQUIRED', ErrorCode.http11Required],
  ['NO_ERROR', ErrorCode.noError],
  ['error 4711', 4711],
] as const) {
  test(`a reset with ${name} fails the attempt, and the log can say so`, () =>
    withRig(async (rig) => {
      const reset = await rig.ask({}, 1)
      rig.endpoint.reset(1, code)
      await reset.final()
      assert.equal(reset.failure?.detail, `the endpoint reset the stream: ${name}`)
      assert.equal(reset.failure?.retry, 'never')
      assert.equal(reset.failure?.resetCode, code)
      assert.equal(rig.owner.failed.length, 1)
      await rig.stillServes(3)
    }))
}

test('a reset in the middle of a body breaks it off', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.endpoint.respond(1, 200)
    rig.endpoint.data(1, 'half')
    rig.endpoint.reset(1, ErrorCode.internalError)
    await recorded.whole()
    assert.equal(recorded.sink.text, 'half')
    assert.equal(recorded.sink.failure?.code, 'upstream_reset')
    assert.equal(recorded.finals, 1)
    await rig.stillServes(3)
  }))

test('a connection that dies: unanswered requests may be repeated where that is harmless, answered ones not', () =>
  withRig(async (rig) => {
    const unanswered = await rig.ask({}, 1)
    const begun = await rig.ask({}, 3)
    const answered = await rig.ask({}, 5)
    rig.endpoint.respond(3, 103)
    rig.endpoint.respond(5, 200)
    await answered.final()
    rig.endpoint.socket.resetAndDestroy()
    await unanswered.final()
    await begun.final()
    await answered.whole()
    assert.equal(unanswered.failure?.code, 'upstream_reset')
    assert.equal(unanswered.failure?.retry, 'if_idempotent')
    assert.equal(unanswered.failure?.suspect, 'connection')
    assert.equal(begun.failure?.retry, 'never')
    assert.equal(answered.sink.failure?.retry, 'never')
    assert.equal(answered.sink.failure?.code, 'upstream_reset')
    await rig.isGone()
  }))

test('a new connection that dies at once says something of the endpoint', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.endpoint.socket.destroy()
    assert.equal((await recorded.final()).failure?.suspect, 'endpoint')
  }))

test('a request of which nothing was sent may be sent again, whatever it is', () =>
  withRig(async (rig) => {
    const first = await rig.ask({}, 1)
    let second: RecordedAttempt | undefined
    // Sent while the connection is still good, and before the turn ends in which it dies.
    first.onFailure = () => undefined
    rig.owner.whenAvailable = () => {
      second ??= rig.send({ method: 'POST' })
    }
    rig.endpoint.reset(1, ErrorCode.cancel)
    rig.endpoint.send(FrameType.ping, 0, 1)
    await until('the second has failed', () => second?.finals === 1)
    assert.equal(second?.failure?.code, 'upstream_protocol')
    assert.equal(second?.failure?.retry, 'always')
  }))

test('a connection that ends without a goodbye fails what is in flight', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.endpoint.socket.end()
    assert.equal((await recorded.final()).failure?.code, 'upstream_reset')
    await rig.isGone()
  }))

test('drain ends an unused connection at once, a used one with its last stream', async () => {
  await withRig(async (rig) => {
    rig.connection.drain()
    await rig.isGone()
    assert.equal(await rig.endpoint.farewell(), ErrorCode.noError)
  })
  await withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.connection.drain()
    assert.equal(rig.connection.capacity, 0)
    rig.endpoint.respond(1, 200, [], endStream)
    assert.equal((await recorded.final()).status, 200)
    assert.equal(await rig.endpoint.farewell(), ErrorCode.noError)
    await rig.isGone()
  })
})

test('destroy fails everything at once, and nobody tries again', () =>
  withRig(async (rig) => {
    const recorded = await rig.ask({}, 1)
    rig.connection.destroy()
    await recorded.final()
    assert.equal(recorded.failure?.code, 'shutdown')
    assert.equal(recorded.failure?.retry, 'never')
    await rig.isGone()
  }))

test('a connection whose stream ids are used up takes no more requests, and closes when it is done', () =>
  withRig(
    async (rig) => {
      await rig.ask({}, 0x7ffffffd)
      assert.equal(rig.owner.closed, 0)
      const last = await rig.ask({}, 0x7fffffff)
      await rig.isGone()
      rig.endpoint.respond(0x7ffffffd, 200, [], endStream)
      rig.endpoint.respond(0x7fffffff, 200, [], endStream)
      assert.equal((await last.final()).status, 200)
      assert.equal(await rig.endpoint.farewell(), ErrorCode.noError)
    },
    { firstStreamId: 0x7ffffffd },
  ))

test('capacity: a hundred until the endpoint has spoken, then what it announces', () =>
  withRig(
    async (rig) => {
      assert.equal(rig.connection.capacity, 100)
      rig.send()
      rig.send()
      assert.equal(rig.connection.capacity, 98)
      rig.endpoint.send(FrameType.settings, 0, 0, settings([Setting.maxConcurrentStreams, 3]))
      await until('the endpoint has spoken', () => rig.connection.capacity === 1)
      rig.endpoint.send(FrameType.settings, 0, 0, settings([Setting.maxConcurrentStreams, 1]))
      await until('the endpoint has changed its mind', () => rig.connection.capacity === 0)
      const { available } = rig.owner
      rig.endpoint.send(FrameType.settings, 0, 0, settings([Setting.maxConcurrentStreams, 200]))
      await until('there is room again', () => rig.connection.capacity === 198)
      assert.equal(rig.owner.available, available + 1)
    },
    { hello: 'silent' },
  ))

test('an endpoint that announces no number of streams takes a thousand; one that announces none, none', async () => {
  await withRig(async (rig) => until('the endpoint has spoken', () => rig.connection.capacity === 1000))
  await withRig(async (rig) => until('the endpoint has spoken', () => rig.connection.capacity === 0), {
    hello: [[Setting.maxConcurrentStreams, 0]],
  })
})

test('exactly a hundred announced is a hundred', () =>
  withRig(
    async (rig) => {
      await rig.endpoint.frame((one) => one.type === FrameType.settings && one.flags === Flag.ack, 'an acknowledgement')
      assert.equal(rig.connection.capacity, 100)
    },
    { hello: [[Setting.maxConcurrentStreams, 100]] },
  ))

test('no answer in time: the attempt fails, the connection stays while PINGs are answered', () =>
  withRig(
    async (rig) => {
      const slow = await rig.ask({}, 1)
      await slow.final()
      assert.equal(slow.failure?.code, 'upstream_timeout')
      assert.equal(slow.failure?.detail, 'no answer within 100 ms')
      assert.equal(await rig.endpoint.resetOf(1), ErrorCode.cancel)
      const ping = await rig.endpoint.frame((one) => one.type === FrameType.ping && one.flags === 0, 'a PING')
      rig.endpoint.send(FrameType.ping, Flag.ack, 0, ping.payload)
      await rig.stillServes(3)
    },
    { timeouts: { responseMs: 100 } },
  ))

test('a connection that answers neither a request nor a PING is dead', () =>
  withRig(
    async (rig) => {
      const slow = await rig.ask({}, 1)
      await slow.final()
      const next = await rig.ask({ method: 'POST', body: new HandSource() }, 3)
      await rig.isGone()
      assert.equal((await next.final()).failure?.detail, 'no answer to a PING within 5000 ms')
    },
    { timeouts: { responseMs: 100 } },
  ))

test('while the client still sends, no answer is waited for', () =>
  withRig(
    async (rig) => {
      const body = new HandSource()
      const slow = await rig.ask({ method: 'POST', body }, 1)
      const proof = await rig.ask({}, 3)
      assert.equal((await proof.final()).failure?.code, 'upstream_timeout')
      assert.equal(slow.finals, 0)
      body.sink.end(undefined)
      assert.equal((await slow.final()).failure?.code, 'upstream_timeout')
    },
    { timeouts: { responseMs: 100 } },
  ))

test('an endpoint that opens no window for a request fails it in time', () =>
  withRig(
    async (rig) => {
      const body = new ChunkSource([Buffer.alloc(100)])
      await rig.endpoint.frame((one) => one.type === FrameType.settings && one.flags === Flag.ack, 'an acknowledgement')
      const stalled = await rig.ask({ method: 'POST', body }, 1)
      await stalled.final()
      assert.equal(stalled.failure?.detail, 'took no byte of the request for 100 ms')
      assert.equal(await rig.endpoint.resetOf(1), ErrorCode.cancel)
    },
    { timeouts: { bodyIdleMs: 100 }, hello: [[Setting.initialWindowSize, 0]] },
  ))

test('a body that stops is broken off in time, unless it is the client who does not read', () =>
  withRig(
    async (rig) => {
      const stopped = await rig.ask({}, 1)
      const unread = rig.send()
      unread.sink.isFull = true
      rig.endpoint.respond(1, 200)
      rig.endpoint.respond(3, 200)
      rig.endpoint.data(1, 'x')
      rig.endpoint.data(3, 'x')
      await stopped.whole()
      assert.equal(stopped.sink.failure?.detail, 'no byte of the body for 100 ms')
      assert.equal(unread.sink.ended, 'no')
      unread.sink.isFull = false
      unread.body?.resume()
      rig.endpoint.data(3, 'y', endStream)
      await unread.whole()
      assert.equal(unread.sink.text, 'xy')
    },
    { timeouts: { bodyIdleMs: 100 } },
  ))

test('an unused connection says goodbye in time', () =>
  withRig(
    async (rig) => {
      assert.equal(await rig.endpoint.farewell(), ErrorCode.noError)
      await rig.isGone()
    },
    { timeouts: { idleMs: 50 } },
  ))

test('an endpoint that never says SETTINGS is given up', () =>
  withRig(
    async (rig) => {
      const recorded = rig.send()
      await recorded.final()
      assert.equal(recorded.failure?.code, 'upstream_timeout')
      await rig.isGone()
    },
    { hello: 'silent', timeouts: { responseMs: 100 } },
  ))

test('an endpoint that reads nothing is given up', () =>
  withRig(
    async (rig) => {
      rig.endpoint.socket.pause()
      const fields = Array.from({ length: 8 }, () => ['x-large', '~'.repeat(100_000)] as const)
      const requests = Array.from({ length: 20 }, () => rig.send({ fields }))
      await requests[19]?.final()
      await rig.isGone()
      for (const one of requests) assert.equal(one.failure?.code, 'upstream_timeout')
    },
    { timeouts: { bodyIdleMs: 200 } },
  ))
