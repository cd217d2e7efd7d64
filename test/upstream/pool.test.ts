import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { Endpoint } from '../../src/upstream/endpoint.js'
import type { EndpointOptions } from '../../src/upstream/endpoint-options.js'
import { until } from '../support/deadline.js'
import { portOf } from '../support/port.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'
import { calmSettings, endpointAt, get, type Sent, send } from './endpoint-at.js'

const roomy = { connections: 100, queued: 100, queueMs: 60_000 }

describe('the pool of an HTTP/1 endpoint', () => {
  let upstream: ScriptedUpstream
  let endpoint: Endpoint

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(() => undefined).open()
  })
  afterEach(() => upstream.close())

  function open(pool: Partial<typeof roomy>, more: Partial<EndpointOptions> = {}): void {
    endpoint = endpointAt(upstream.port, { pool: { ...roomy, ...pool }, ...more })
  }

  function sendAll(...paths: string[]): Sent[] {
    return paths.map((path) => send(endpoint, get(path)))
  }

  /** The paths in the order in which they arrived, all connections together. */
  function asked(): string[] {
    return [...upstream.received.matchAll(/GET (\S+)/g)].map(([, path]) => path as string)
  }

  async function arrives(count: number): Promise<void> {
    await until(`${count} requests arrive`, () => asked().length >= count)
  }

  function answer(connection: number): void {
    upstream.connections[connection]?.socket.write(response('ok'))
  }

  test('opens as many connections as its limit and no more; those above wait for one that becomes free', async () => {
    open({ connections: 2 })
    const [a, b, c] = sendAll('/a', '/b', '/c') as [Sent, Sent, Sent]
    await arrives(2)
    assert.equal(endpoint.active, 3)
    answer(0)
    await Promise.race([a.settled(), b.settled()])
    await arrives(3)
    answer(0)
    answer(1)
    for (const sent of [a, b, c]) assert.equal((await sent.settled()).status, 200)
    assert.equal(upstream.connections.length, 2)
    assert.equal(endpoint.active, 0)
  })

  test('serves those who wait in the order in which they came', async () => {
    open({ connections: 1 })
    const sent = sendAll('/a', '/b', '/c', '/d')
    for (let count = 1; count <= 4; count++) {
      await arrives(count)
      answer(0)
    }
    for (const each of sent) await each.settled()
    assert.deepEqual(asked(), ['/a', '/b', '/c', '/d'])
  })

  test('takes the connection that was used last', async () => {
    open({})
    const both = sendAll('/a', '/b')
    await arrives(2)
    answer(0)
    await until('the first answer', () => both.some(({ isComplete }) => isComplete))
    answer(1)
    for (const each of both) await each.settled()
    sendAll('/c')
    await arrives(3)
    assert.match(upstream.connections[1]?.received ?? '', /\/c/)
  })

  test('lets as many wait as it may, and refuses one more at once: it may go elsewhere', async () => {
    open({ connections: 1, queued: 2 })
    const waiting = sendAll('/a', '/b', '/c')
    const refused = send(endpoint, get('/d'))
    const { failure: atOnce } = refused
    assert.equal(atOnce, undefined, 'never before the sender has the attempt in hands')
    const { failure } = await refused.settled()
    assert.equal(failure?.code, 'overloaded')
    assert.equal(failure?.status, 503)
    assert.equal(failure?.retry, 'always')
    for (let count = 1; count <= 3; count++) {
      await arrives(count)
      answer(0)
    }
    for (const each of waiting) assert.equal((await each.settled()).status, 200)
  })

  test('lets nobody wait where none may, but dials for those within the limit', async () => {
    open({ connections: 2, queued: 0 })
    const [a, b, c] = sendAll('/a', '/b', '/c') as [Sent, Sent, Sent]
    await c.settled()
    assert.equal(c.failure?.code, 'overloaded')
    await arrives(2)
    answer(0)
    answer(1)
    assert.equal((await a.settled()).status, 200)
    assert.equal((await b.settled()).status, 200)
  })

  test('lets nobody wait longer than queueMs, and goes on with the others', async () => {
    open({ connections: 1, queueMs: 150 })
    const [a, b] = sendAll('/a', '/b') as [Sent, Sent]
    await b.settled()
    assert.equal(b.failure?.code, 'overloaded')
    answer(0)
    assert.equal((await a.settled()).status, 200)
    const [c] = sendAll('/c') as [Sent]
    await arrives(2)
    answer(0)
    assert.equal((await c.settled()).status, 200)
    assert.deepEqual(asked(), ['/a', '/c'])
  })

  test('forgets one who leaves while it waits, and keeps the order of the others', async () => {
    open({ connections: 1 })
    const [, b] = sendAll('/a', '/b', '/c') as [Sent, Sent, Sent]
    b.attempt.cancel()
    assert.equal(endpoint.active, 2)
    await arrives(1)
    answer(0)
    await arrives(2)
    assert.deepEqual(asked(), ['/a', '/c'])
    assert.equal(b.failure, undefined)
  })

  test('gives the place of one who leaves before its connection stands to the next', async () => {
    open({ connections: 1 })
    const [a, b] = sendAll('/a', '/b') as [Sent, Sent]
    a.attempt.cancel()
    await arrives(1)
    answer(0)
    assert.equal((await b.settled()).status, 200)
    assert.deepEqual(asked(), ['/b'])
  })

  test('dials again for those who wait when a connection is lost, and fails only whose it was', async () => {
    open({ connections: 1 })
    const [a, b] = sendAll('/a', '/b') as [Sent, Sent]
    await arrives(1)
    upstream.connections[0]?.socket.destroy()
    assert.equal((await a.settled()).failure?.code, 'upstream_reset')
    await arrives(2)
    answer(1)
    assert.equal((await b.settled()).status, 200)
  })

  test('closes an unused connection for one who wants a fresh one at the limit', async () => {
    open({ connections: 1 })
    sendAll('/a')
    await arrives(1)
    answer(0)
    await until('the answer', () => endpoint.active === 0)
    const fresh = send(endpoint, get('/b'), 'fresh')
    await arrives(2)
    answer(1)
    assert.equal((await fresh.settled()).status, 200)
    assert.match(upstream.connections[1]?.received ?? '', /\/b/)
    assert.ok(endpoint.connections <= 1)
  })

  test('a limit that grows serves those who wait, one that shrinks cuts nobody', async () => {
    open({ connections: 1 })
    const sent = sendAll('/a', '/b', '/c')
    await arrives(1)
    endpoint.reconfigure({ ...calmSettings, pool: { ...roomy, connections: 3 } })
    await arrives(3)
    endpoint.reconfigure({ ...calmSettings, pool: { ...roomy, connections: 1 } })
    for (let connection = 0; connection < 3; connection++) answer(connection)
    for (const each of sent) assert.equal((await each.settled()).status, 200)
  })

  test('once retired, serves who waits and closes', async () => {
    open({ connections: 1 })
    const [a, b] = sendAll('/a', '/b') as [Sent, Sent]
    await arrives(1)
    endpoint.retire()
    answer(0)
    assert.equal((await a.settled()).status, 200)
    await arrives(2)
    answer(1)
    assert.equal((await b.settled()).status, 200)
    await upstream.isDeserted()
    assert.equal(endpoint.connections, 0)
  })

  test('when its name has other addresses, lets connections to the old ones end with what is in flight', async () => {
    open({})
    const [busy] = sendAll('/a', '/b') as [Sent, Sent]
    await arrives(2)
    answer(1)
    await until('one is unused', () => endpoint.active === 1)
    endpoint.onAddresses(['127.0.0.1'])
    assert.equal(endpoint.connections, 2)
    endpoint.onAddresses(['127.0.0.2'])
    await until('the unused one closes', () => endpoint.connections === 1)
    answer(0)
    assert.equal((await busy.settled()).status, 200)
    await upstream.isDeserted()
  })

  test('new timeouts reach the connections that are open', async () => {
    open({})
    sendAll('/a')
    await arrives(1)
    answer(0)
    await until('the answer', () => endpoint.active === 0)
    endpoint.reconfigure({ ...calmSettings, timeouts: { ...calmSettings.timeouts, responseMs: 50 } })
    const [slow] = sendAll('/b') as [Sent]
    assert.equal((await slow.settled()).failure?.code, 'upstream_timeout')
    assert.equal(upstream.connections.length, 1)
  })
})

describe('an endpoint that cannot be reached', () => {
  test('fails each who caused a connection, so that it may go elsewhere, and none of the others', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const port = portOf(server)
    server.close()
    await once(server, 'close')
    const endpoint = endpointAt(port, { pool: { connections: 2, queued: 100, queueMs: 60_000 } })
    const sent = Array.from({ length: 10 }, () => send(endpoint))
    for (const each of sent) {
      await each.settled()
      assert.equal(each.failure?.code, 'upstream_unreachable')
      assert.equal(each.failure?.retry, 'always')
    }
    assert.equal(endpoint.active, 0)
    assert.equal(endpoint.connections, 0)
  })
})
