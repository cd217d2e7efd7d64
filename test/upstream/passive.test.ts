import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { Endpoint } from '../../src/upstream/endpoint.js'
import { Upstream } from '../../src/upstream/upstream.js'
import { answering, response, type Script, ScriptedUpstream } from '../support/scripted-upstream.js'
import { calmSettings, endpointAt, observerOf, send } from './endpoint-at.js'

const passive = { failures: 3, windowMs: 60_000, ejectMs: 1000 }
const unavailable = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n'

/** How an endpoint fails a request. */
const faults: Readonly<Record<string, Script>> = {
  upstream_reset: ({ socket }) => socket.destroy(),
  upstream_protocol: ({ socket }) => socket.end('hello\r\n\r\n'),
}

describe('an upstream with a failing endpoint', () => {
  let good: ScriptedUpstream
  let bad: ScriptedUpstream
  let endpoints: [Endpoint, Endpoint]
  let upstream: Upstream
  let now: number
  let log: string[]

  beforeEach(async () => {
    good = await new ScriptedUpstream(answering(response('ok'))).open()
    bad = await new ScriptedUpstream(answering(unavailable)).open()
    now = 0
    log = []
    const observer = observerOf(log)
    const more = { passive, observer, now: () => now }
    endpoints = [endpointAt(good.port, { label: 'good', ...more }), endpointAt(bad.port, { label: 'bad', ...more })]
    upstream = new Upstream({ name: 'test', endpoints })
    upstream.activate()
  })
  afterEach(async () => {
    for (const endpoint of endpoints) endpoint.retire()
    await good.close()
    await bad.close()
  })

  /** Sends as many requests as are asked for, one after another, and gives who got them. */
  async function ask(count: number, of = upstream): Promise<string[]> {
    const labels: string[] = []
    for (let index = 0; index < count; index++) {
      const endpoint = of.choose(0, [])
      if (endpoint === undefined) break
      labels.push(endpoint.label)
      await send(endpoint).settled()
    }
    return labels
  }

  test('passes it over once it has failed often enough, and says so once', async () => {
    assert.equal((await ask(6)).filter((label) => label === 'bad').length, 3)
    assert.deepEqual(await ask(4), ['good', 'good', 'good', 'good'])
    assert.deepEqual(log, ['bad down by requests: status 503; left alone for 1000 ms'])
  })

  test('tries it once after the pause, while the others go elsewhere, and takes it back when that succeeds', async () => {
    await ask(6)
    now += 1000
    assert.equal((await ask(4)).filter((label) => label === 'bad').length, 1)
    bad.script = answering(response('ok'))
    now += 2000
    const labels = await ask(6)
    assert.ok(labels.filter((label) => label === 'bad').length >= 2)
    assert.equal(log.at(-1), 'bad up by requests: a request was answered')
    assert.equal(log.length, 2)
  })

  for (const [code, script] of Object.entries(faults)) {
    test(`passes it over after failures of ${code}`, async () => {
      bad.script = script
      await ask(6)
      assert.deepEqual(await ask(2), ['good', 'good'])
      assert.match(log[0] ?? '', new RegExp(`^bad down by requests: ${code}`))
    })
  }

  test('passes it over after refused connections', async () => {
    await bad.close()
    await ask(6)
    assert.deepEqual(await ask(2), ['good', 'good'])
    assert.match(log[0] ?? '', /^bad down by requests: upstream_unreachable/)
    bad = await new ScriptedUpstream(() => undefined).open()
  })

  test('never passes over the last one: it may be well again, and nobody else is asked', async () => {
    const alone = new Upstream({ name: 'alone', endpoints: [endpoints[1]] })
    alone.activate()
    assert.equal((await ask(10, alone)).length, 10)
    assert.deepEqual(log, [])
  })

  test('never passes over all: where each has failed, the last is kept', async () => {
    good.script = answering(unavailable)
    assert.equal((await ask(20)).length, 20)
    assert.equal(log.length, 1)
  })

  test('asks one that is left alone when a retry has nobody else', async () => {
    await ask(6)
    assert.equal(endpoints[1].isAvailable, false)
    assert.equal(upstream.choose(0, [endpoints[0]]), endpoints[1])
  })

  test('keeps what it knows over a reload, which makes another upstream of the same endpoints', async () => {
    await ask(6)
    for (const endpoint of endpoints) endpoint.reconfigure({ ...calmSettings, passive })
    const shares = new Map([[endpoints[0], { weight: 7, isBackup: false }]])
    const reloaded = new Upstream({ name: 'test', endpoints, shares })
    reloaded.activate()
    assert.deepEqual(await ask(3, reloaded), ['good', 'good', 'good'])
    assert.equal(good.connections.length, 1, 'its connections, too')
  })

  test('does not count requests whose client leaves', async () => {
    bad.script = () => undefined
    for (let index = 0; index < 10; index++) send(endpoints[1]).attempt.cancel()
    assert.equal(endpoints[1].isAvailable, true)
  })
})
