// RFC 9218: what a Priority says, who then goes first, and that nobody waits for ever.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType, Setting } from '../../src/http2/frames.js'
import { parsePriority, unprioritized } from '../../src/http2/priority.js'
import type { Downstream } from '../../src/wire/downstream.js'
import { frameBytes, literals, type RawClient, requestFields, uint32 } from '../support/http2-client.js'
import { ChunkSource, fieldsOf, type TestServer, withServer } from './harness.js'

const sequential = (urgency: number) => urgency * 2 + 1
const incremental = (urgency: number) => urgency * 2

const fields: readonly (readonly [text: string, priority: number])[] = [
  ['', unprioritized],
  ['u=0', sequential(0)],
  ['u=7', sequential(7)],
  ['i', incremental(3)],
  ['i=?1', incremental(3)],
  ['i=?0', sequential(3)],
  ['u=1, i', incremental(1)],
  ['i,u=1', incremental(1)],
  ['u=1,\ti ', incremental(1)],
  ['u=1;a;b="c";d=?0, i;e', incremental(1)],
  ['u=1, u=2', sequential(2)],
  ['u=5, u="6"', sequential(5)],
  ['a=(1 "b;c,\\"" tok:en/x);d, u=1', sequential(1)],
  ['b=:aGk=:, c=-1.5, d=@1, u=1', unprioritized],
  ['b=:aGk=:, c=-1.5, *d=*t, u=1', sequential(1)],
  // Out of range, or of another type: ignored one by one.
  ['u=8', sequential(3)],
  ['u=-1', sequential(3)],
  ['u=1.0', sequential(3)],
  ['u', sequential(3)],
  ['u=?1', sequential(3)],
  ['u=(1)', sequential(3)],
  ['i=1', sequential(3)],
  ['i=true', sequential(3)],
  ['uu=0, ii', sequential(3)],
  // Malformed: ignored as a whole.
  ['u=', unprioritized],
  ['u=0,', unprioritized],
  [',u=0', unprioritized],
  ['u=0 i', unprioritized],
  ['U=0', unprioritized],
  ['u =0', unprioritized],
  ['u= 0', unprioritized],
  ['u=0; ', unprioritized],
  ['u=0, a="', unprioritized],
  ['u=0, a="\\x"', unprioritized],
  ['u=0, a=(1', unprioritized],
  ['u=0, a=(1"b")', unprioritized],
  ['u=0, a=:-:', unprioritized],
  ['u=0, a=1.', unprioritized],
  ['u=0, a=1.2345', unprioritized],
  [`u=0, a=${'1'.repeat(16)}`, unprioritized],
  ['u=0, i=?2', unprioritized],
  ['u=0\0', unprioritized],
  ['u=0, \xff', unprioritized],
]
for (const [text, priority] of fields) {
  test(`the priority ${JSON.stringify(text)} is ${priority}`, () => {
    const bytes = Buffer.from(`<${text}>`, 'latin1')
    assert.equal(parsePriority(bytes, 1, bytes.length - 1), priority)
  })
}

const kibibyte = 1024

/** Answers with as many KiB as the path says. */
function answerLarge(downstream: Downstream): void {
  const count = Number(downstream.request.target.slice(1)) / 16
  const chunks = Array.from({ length: count }, () => Buffer.alloc(16 * kibibyte))
  downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, new ChunkSource(chunks))
}

interface Wanted {
  readonly kibibytes: number
  readonly priority?: string
}

function head(streamId: number, { kibibytes, priority }: Wanted): Buffer {
  const more = priority === undefined ? [] : ([['priority', priority]] as const)
  const section = literals(requestFields(more, 'GET', `/${kibibytes}`))
  return frameBytes(FrameType.headers, Flag.endHeaders | Flag.endStream, streamId, section)
}

function update(streamId: number, priority: string): Buffer {
  return frameBytes(FrameType.priorityUpdate, 0, 0, Buffer.concat([uint32(streamId), Buffer.from(priority)]))
}

async function roomyClient(server: TestServer): Promise<RawClient> {
  const client = await server.client([[Setting.initialWindowSize, 0x7fffffff]])
  client.send(FrameType.windowUpdate, 0, 0, uint32(0x7fff0000))
  client.creditsWindows = false
  await client.ping()
  return client
}

/** Sends everything at once, waits for the answers on the streams, and tells in which order their bytes came. */
async function orderOf(server: TestServer, frames: readonly Buffer[], streams: readonly number[]): Promise<number[]> {
  const client = await roomyClient(server)
  client.write(Buffer.concat(frames))
  for (const id of streams) await client.answer(id)
  return client.frames
    .filter(({ type, payload }) => type === FrameType.data && payload.length > 0)
    .map((one) => one.streamId)
}

function changes(order: readonly number[]): number {
  return order.filter((id, at) => at > 0 && order[at - 1] !== id).length
}

test('answers of one urgency that are not incremental come one after another, in the order of their requests', () =>
  withServer(async (server) => {
    const wanted = { kibibytes: 192, priority: 'u=3' }
    const order = await orderOf(server, [head(1, wanted), head(3, wanted), head(5, wanted)], [1, 3, 5])
    assert.deepEqual([...new Set(order)], [1, 3, 5])
    assert.equal(changes(order), 2)
  }, answerLarge))

for (const priority of ['u=3, i', undefined]) {
  test(`answers ${priority === undefined ? 'of which nobody said anything' : 'that are incremental'} take turns`, () =>
    withServer(async (server) => {
      const wanted = { kibibytes: 192, ...(priority === undefined ? {} : { priority }) }
      const order = await orderOf(server, [head(1, wanted), head(3, wanted)], [1, 3])
      assert.ok(changes(order) > 4, order.join(' '))
    }, answerLarge))
}

test('a large answer that comes first does not starve those behind it', () =>
  withServer(async (server) => {
    const frames = [head(1, { kibibytes: 4096, priority: 'u=0' }), head(3, { kibibytes: 64, priority: 'u=0' })]
    const order = await orderOf(server, frames, [1, 3])
    assert.ok(order.lastIndexOf(3) < order.lastIndexOf(1) / 2, order.join(' '))
  }, answerLarge))

test('the least urgent answer moves beside the most urgent ones', () =>
  withServer(async (server) => {
    const urgent = { kibibytes: 1024, priority: 'u=0' }
    const frames = [head(1, urgent), head(3, urgent), head(5, { kibibytes: 64, priority: 'u=7' })]
    const order = await orderOf(server, frames, [1, 3, 5])
    assert.ok(order.lastIndexOf(5) < order.lastIndexOf(3), order.join(' '))
  }, answerLarge))

test('PRIORITY_UPDATE reaches a stream that waits in a sequence', () =>
  withServer(async (server) => {
    const wanted = { kibibytes: 192, priority: 'u=3' }
    const frames = [head(1, wanted), head(3, wanted), head(5, wanted), update(3, 'u=0, i')]
    const order = await orderOf(server, frames, [1, 3, 5])
    assert.ok(order.indexOf(3) < order.lastIndexOf(1), order.join(' '))
    assert.ok(order.lastIndexOf(1) < order.indexOf(5), order.join(' '))
  }, answerLarge))

test('PRIORITY_UPDATE of the stream that leads a sequence lets the next one lead', () =>
  withServer(async (server) => {
    const wanted = { kibibytes: 256, priority: 'u=3' }
    const order = await orderOf(server, [head(1, wanted), head(3, wanted), update(1, 'u=7')], [1, 3])
    assert.ok(order.lastIndexOf(3) < order.lastIndexOf(1), order.join(' '))
  }, answerLarge))

test('PRIORITY_UPDATE that comes before its request counts, not the header', () =>
  withServer(async (server) => {
    const wanted = { kibibytes: 192, priority: 'u=3' }
    const frames = [update(1, 'u=3, i'), update(3, 'u=3, i'), head(1, wanted), head(3, wanted)]
    const order = await orderOf(server, frames, [1, 3])
    assert.ok(changes(order) > 4, order.join(' '))
  }, answerLarge))

test('PRIORITY_UPDATE that makes no sense says what no header says, and one for a stream that has ended nothing', () =>
  withServer(async (server) => {
    const client = await roomyClient(server)
    client.write(Buffer.concat([update(1, '&&&'), head(1, { kibibytes: 16 })]))
    await client.answer(1)
    client.write(Buffer.concat([update(1, 'u=0'), head(3, { kibibytes: 16 })]))
    await client.answer(3)
  }, answerLarge))

test('a stream that is reset while it waits in a sequence holds nobody up', () =>
  withServer(async (server) => {
    const wanted = { kibibytes: 192, priority: 'u=3' }
    const reset = (id: number) => frameBytes(FrameType.rstStream, 0, id, uint32(ErrorCode.cancel))
    const frames = [head(1, wanted), head(3, wanted), head(5, wanted), reset(1), reset(3)]
    assert.deepEqual([...new Set(await orderOf(server, frames, [5]))], [5])
  }, answerLarge))

test('as many streams that are not open may be prioritised as may be open, and not one more', () =>
  withServer(
    async (server) => {
      const client = await roomyClient(server)
      for (const id of [1, 3, 5, 7, 9]) client.write(update(id, 'u=1'))
      client.write(update(9, 'u=2'))
      // Passed over by a larger id: stream 1 to 7 will never be open, and are forgotten.
      client.write(head(9, { kibibytes: 16 }))
      await client.answer(9)
      for (const id of [11, 13, 15, 17, 19]) client.write(update(id, 'u=1'))
      await client.ping()
      client.write(update(21, 'u=1'))
      assert.equal(await client.goaway(), ErrorCode.protocolError)
      await (await server.client()).stillServes(1)
    },
    (downstream) => (downstream.request.target === '/' ? answerHelloTo(downstream) : answerLarge(downstream)),
    { limits: { concurrentStreams: 5 } },
  ))

function answerHelloTo(downstream: Downstream): void {
  downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, undefined)
}
