// Hostile endpoints: frames made at random, and bytes that are no frames. Whatever comes, nothing is thrown, every attempt
// has exactly one outcome, and memory stays flat.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Flag, FrameType } from '../../src/http2/frames.js'
import { ChunkSource } from '../http2/harness.js'
import { until } from '../support/deadline.js'
import { heapBytes } from '../support/heap.js'
import { frameBytes, literals, type Pair } from '../support/http2-client.js'
import { fuzzSeed, type Random, randomOf } from '../support/random.js'
import { type RecordedAttempt, type Rig, withRig } from './rig.js'

const corpus = join('..', 'shared', 'vectors', 'fuzz', 'http2.json')
const runs = Number(process.env['HOSTWARD_FUZZ_RUNS'] ?? 200)
const prefaceBytes = 24

/** Sends requests of all shapes, lets the endpoint say `bytes` and end, and looks at what became of each. */
async function survives(bytes: Buffer, cancelled: number): Promise<void> {
  await withRig(
    async (rig) => {
      const attempts = sendAll(rig)
      rig.endpoint.write(bytes)
      rig.endpoint.socket.end()
      attempts[cancelled]?.attempt?.cancel()
      await until('the connection ends', () => rig.owner.closed > 0 && rig.connection.active === 0)
      for (const [index, recorded] of attempts.entries()) judge(recorded, index === cancelled)
      assert.equal(rig.owner.closed, 1)
      assert.equal(rig.connection.capacity, 0)
    },
    { hello: 'silent' },
  )
}

function sendAll(rig: Rig): RecordedAttempt[] {
  return [
    rig.send(),
    rig.send({ method: 'HEAD' }),
    rig.send({ method: 'POST', body: new ChunkSource([Buffer.alloc(100_000)]) }),
    rig.send({ method: 'PUT', body: new ChunkSource([Buffer.from('abc')], { lengthBytes: 3 }) }),
    rig.send({ upgrade: 'websocket' }),
    rig.send(),
  ]
}

function judge(recorded: RecordedAttempt, isCancelled: boolean): void {
  if (isCancelled) assert.ok(recorded.finals <= 1)
  else assert.equal(recorded.finals, 1)
  const hasBody = recorded.body !== undefined || recorded.tunnel !== undefined
  if (hasBody && !isCancelled) assert.notEqual(recorded.sink.ended, 'no')
}

test('the public corpus of hostile connections is survived', {
  skip: !existsSync(corpus) && `no ${corpus}`,
}, async () => {
  const inputs: readonly { base64: string }[] = JSON.parse(readFileSync(corpus, 'utf8'))
  for (const { base64 } of inputs) {
    const bytes = Buffer.from(base64, 'base64')
    await survives(bytes, 0)
    // The inputs are clients'; behind their preface stand frames that an endpoint could say as well.
    await survives(bytes.subarray(prefaceBytes), 0)
  }
})

test('connections of random frames are survived', async () => {
  const random = randomOf(fuzzSeed())
  for (let run = 0; run < runs; run++) await survives(randomConnection(random), random(8))
})

test('ten thousand streams that are cancelled leave nothing behind', () => {
  const resets = { resetBurst: 12_000, resetsPerSecond: 1 }
  return withRig(
    async (rig) => {
      const cycle = async (count: number) => {
        for (let index = 0; index < count; index++) rig.send().attempt?.cancel()
        rig.endpoint.frames.length = 0
        await rig.endpoint.ping()
      }
      await cycle(2000)
      const before = heapBytes()
      for (let round = 0; round < 10; round++) await cycle(1000)
      rig.endpoint.frames.length = 0
      const grown = heapBytes() - before
      assert.ok(grown < 2 << 20, `${grown} bytes more`)
      assert.equal(rig.connection.active, 0)
    },
    { resets },
  )
})

function randomConnection(random: Random): Buffer {
  const offer = random(2) === 0 ? Buffer.alloc(0) : Buffer.from([0, 8, 0, 0, 0, 1])
  const frames = Array.from({ length: 1 + random(40) }, () => randomFrame(random))
  const bytes = Buffer.concat([frameBytes(FrameType.settings, 0, 0, offer), ...frames])
  for (let count = random(3); count > 0; count--) bytes[random(bytes.length)] = random(256)
  return bytes
}

const samples: readonly Pair[] = [
  ['content-length', '3'],
  ['content-length', '0'],
  ['set-cookie', 'a=b'],
  ['te', 'trailers'],
  ['Upper', 'case'],
  ['connection', 'close'],
  [':path', '/again'],
  ['grpc-status', '0'],
]

const statuses = ['100', '103', '200', '200', '200', '204', '304', '404', '101', '99', '600']

function randomFrame(random: Random): Buffer {
  const streamId = random(12) === 0 ? random(20) : random(6) * 2 + 1
  const flags = random(5) === 0 ? random(256) : (random(3) === 0 ? Flag.endStream : 0) | Flag.endHeaders
  if (random(2) === 0) return frameBytes(FrameType.headers, flags, streamId, literals(randomFields(random)))
  if (random(3) > 0) return frameBytes(FrameType.data, flags & ~Flag.padded, streamId, Buffer.alloc(random(5), 'd'))
  const payload = Buffer.from(Array.from({ length: random(3) === 0 ? random(40) : 4 }, () => random(256)))
  return frameBytes(random(11), flags, streamId, payload)
}

function randomFields(random: Random): Pair[] {
  const more = Array.from({ length: random(3) }, () => samples[random(samples.length)] ?? ['x', 'y'])
  if (random(6) === 0) return more
  return [[':status', statuses[random(statuses.length)] ?? '200'], ...more]
}
