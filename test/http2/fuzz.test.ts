// Hostile bytes: the public corpus beside the repository, and frames made at random. Whatever comes back, the next good
// request is answered and every exchange has exactly one end.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Flag, preface } from '../../src/http2/frames.js'
import { frameBytes, literals, type Pair, type RawClient, requestFields } from '../support/http2-client.js'
import { fuzzSeed, type Random, randomOf } from '../support/random.js'
import { answerEcho, type TestServer, withServer } from './harness.js'

const corpus = join('..', 'shared', 'vectors', 'fuzz', 'http2.json')
const runs = 150

async function survives(server: TestServer, bytes: Buffer): Promise<void> {
  const client = await server.silentClient()
  client.write(bytes)
  client.socket.end()
  await client.until(() => client.socket.readableEnded || client.isClosed || undefined, 'an end').catch(() => undefined)
  client.close()
}

async function servesOn(server: TestServer): Promise<void> {
  const client: RawClient = await server.client()
  await client.stillServes(1)
  client.send(4, 0, 0)
  await client.ping()
  const open = server.connections.reduce((sum, one) => sum + one.streams.size, 0)
  const requests = server.connections.reduce((sum, one) => sum + one.requests, 0)
  assert.equal(server.ends.length + open, requests - answeredByCodec(server))
}

/** Requests that the codec answered itself have no observer. */
function answeredByCodec(server: TestServer): number {
  return server.refusals.filter((one) => one.status !== null).length
}

test('the public corpus of hostile connections is survived', { skip: !existsSync(corpus) && `no ${corpus}` }, () =>
  withServer(async (server) => {
    const inputs: readonly { base64: string }[] = JSON.parse(readFileSync(corpus, 'utf8'))
    for (const { base64 } of inputs) await survives(server, Buffer.from(base64, 'base64'))
    await servesOn(server)
    assert.ok(inputs.length > 100)
  }, answerEcho),
)

test('connections of random frames are survived', () =>
  withServer(async (server) => {
    const random = randomOf(fuzzSeed())
    for (let run = 0; run < runs; run++) await survives(server, randomConnection(random))
    await servesOn(server)
  }, answerEcho))

function randomConnection(random: Random): Buffer {
  const frames = Array.from({ length: 5 + random(60) }, () => randomFrame(random))
  const bytes = Buffer.concat([preface, frameBytes(4, 0, 0), ...frames])
  for (let count = random(3); count > 0; count--) bytes[random(bytes.length)] = random(256)
  return bytes
}

const samples: readonly Pair[] = [
  ['content-length', '3'],
  ['cookie', 'a=b'],
  ['te', 'trailers'],
  ['Upper', 'case'],
  ['expect', '100-continue'],
  ['priority', 'u=1'],
  [':path', '/again'],
]

function randomFrame(random: Random): Buffer {
  const streamId = random(8) === 0 ? random(20) : random(10) * 2 + 1
  const flags = random(4) === 0 ? random(256) : (random(2) * Flag.endStream) | Flag.endHeaders
  if (random(2) === 0) return frameBytes(1, flags, streamId, literals(randomFields(random)))
  if (random(2) === 0) return frameBytes(0, flags & ~Flag.padded, streamId, Buffer.alloc(random(5), 'd'))
  const payload = Buffer.from(Array.from({ length: random(3) === 0 ? random(40) : 4 }, () => random(256)))
  return frameBytes(random(11), flags, streamId, payload)
}

function randomFields(random: Random): Pair[] {
  const more = Array.from({ length: random(3) }, () => samples[random(samples.length)] ?? ['x', 'y'])
  return requestFields(
    more.filter(() => random(3) > 0),
    random(2) === 0 ? 'GET' : 'POST',
  )
}
