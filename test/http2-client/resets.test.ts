// Clients who give up many requests on a connection that others share: endpoints end a connection on which too many streams are
// reset (CVE-2023-44487), so they never get to see so many.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode, Flag, FrameType } from '../../src/http2/frames.js'
import { until } from '../support/deadline.js'
import { type Rig, withRig } from './rig.js'

const { endStream } = Flag
/** What Netty takes in half a minute, the least that is known of any server. */
const tolerated = 200

function giveUp(rig: Rig, count: number): void {
  const sent = Array.from({ length: count }, () => rig.send())
  for (const { attempt } of sent) attempt?.cancel()
}

function resetsSeen({ endpoint }: Rig): number {
  return endpoint.frames.filter(({ type }) => type === FrameType.rstStream).length
}

test('a hundred requests that are given up at once are what happens, and the connection goes on', () =>
  withRig(async (rig) => {
    giveUp(rig, 100)
    await rig.stillServes(201)
    assert.equal(resetsSeen(rig), 100)
    assert.equal(rig.owner.closed, 0)
  }))

test('one more, and the connection takes no requests any more, but finishes those of others', () =>
  withRig(async (rig) => {
    const patient = await rig.ask({}, 1)
    giveUp(rig, 101)
    await rig.isGone()
    assert.equal(rig.connection.active, 1)
    rig.endpoint.respond(1, 200, [], endStream)
    assert.equal((await patient.final()).status, 200)
    assert.equal(await rig.endpoint.farewell(), ErrorCode.noError)
    assert.deepEqual(rig.owner.failed, [], 'clients that leave say nothing against the endpoint')
  }))

test('whatever was in flight is given up, an endpoint hears of it at a pace that it takes', () =>
  withRig(async (rig) => {
    const patient = await rig.ask({}, 1)
    giveUp(rig, 999)
    await until('the endpoint hears of the hundred and first', () => resetsSeen(rig) > 100)
    assert.ok(resetsSeen(rig) < tolerated)
    rig.endpoint.respond(1, 200, [], endStream)
    assert.equal((await patient.final()).status, 200)
  }))

test('answers to requests that were given up and not reset yet harm nobody', () =>
  withRig(async (rig) => {
    const patient = await rig.ask({}, 1)
    giveUp(rig, 999)
    await rig.endpoint.request(1999)
    for (let id = 3; id <= 1999; id += 2) {
      rig.endpoint.respond(id, 200)
      rig.endpoint.data(id, 'nobody reads this')
      rig.endpoint.headers(id, [['grpc-status', '0']], endStream)
    }
    await rig.endpoint.ping()
    rig.endpoint.respond(1, 200, [], endStream)
    assert.equal((await patient.final()).status, 200)
  }))
