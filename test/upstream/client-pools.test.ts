import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { encodeProxyV2, type ProxiedAddresses } from '../../src/net/proxy-protocol-v2.js'
import type { Endpoint } from '../../src/upstream/endpoint.js'
import type { EndpointOptions } from '../../src/upstream/endpoint-options.js'
import { until } from '../support/deadline.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'
import { endpointAt, get, type Sent, send } from './endpoint-at.js'

const roomy = { connections: 100, queued: 100, queueMs: 60_000 }

function client(port: number): ProxiedAddresses {
  return { source: { address: '203.0.113.7', port }, destination: { address: '192.0.2.1', port: 443 } }
}

const ann = client(1)
const bob = client(2)
const cid = client(3)

describe('an endpoint that is told of clients', () => {
  let upstream: ScriptedUpstream
  let endpoint: Endpoint

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(() => undefined).open()
  })
  afterEach(async () => {
    endpoint.retire()
    await upstream.close()
  })

  function open(pool: Partial<typeof roomy> = {}, more: Partial<EndpointOptions> = {}): void {
    endpoint = endpointAt(upstream.port, { proxyProtocol: 'v2', pool: { ...roomy, ...pool }, ...more })
  }

  function sendFor(whose: ProxiedAddresses | undefined, path: string): Sent {
    return send(endpoint, get(path), 'pooled', whose)
  }

  async function arrives(path: string): Promise<number> {
    const find = (): number => upstream.connections.findIndex(({ received }) => received.includes(`GET ${path} `))
    await until(`${path} arrives`, () => find() !== -1)
    return find()
  }

  async function exchange(whose: ProxiedAddresses | undefined, path: string): Promise<number> {
    const sent = sendFor(whose, path)
    const connection = await arrives(path)
    upstream.connections[connection]?.socket.write(response('ok'))
    assert.equal((await sent.settled()).status, 200)
    return connection
  }

  test('gets one header on each connection, in front of everything', async () => {
    open()
    await exchange(ann, '/a')
    await exchange(ann, '/b')
    const header = encodeProxyV2(ann).toString('latin1')
    assert.equal(upstream.connections.length, 1)
    assert.ok(upstream.received.startsWith(`${header}GET /a `))
    assert.equal(upstream.received.split(header).length, 2)
  })

  test('never gets requests of one client on a connection of another', async () => {
    open()
    const first = await exchange(ann, '/a')
    const second = await exchange(bob, '/b')
    assert.notEqual(first, second)
    assert.equal(await exchange(ann, '/c'), first)
    assert.equal(await exchange(bob, '/d'), second)
    const third = await exchange({ ...ann, destination: { address: '192.0.2.2', port: 443 } }, '/e')
    assert.notEqual(third, first)
    assert.notEqual(third, second)
  })

  test('gets a LOCAL header where nobody is the client, as in health checks', async () => {
    const healthCheck = { path: '/healthz', host: undefined, expect: [{ from: 200, to: 299 }] }
    const pace = { intervalMs: 60_000, timeoutMs: 15_000, rise: 1, fall: 1 }
    open({}, { healthCheck: { ...healthCheck, ...pace }, random: () => 0 })
    endpoint.activate({ hasOther: () => false })
    await arrives('/healthz')
    assert.ok(upstream.received.startsWith(encodeProxyV2('local').toString('latin1')))
  })

  test('has an unused connection of another client closed for one that finds no place', async () => {
    open({ connections: 2, queued: 0 })
    const oldest = await exchange(ann, '/a')
    await exchange(bob, '/b')
    await exchange(cid, '/c')
    await until("ann's connection closes", () => upstream.connections[oldest]?.isClosed === true)
    assert.equal(upstream.connections.filter(({ isClosed }) => !isClosed).length, 2)
    assert.equal(endpoint.connections, 2)
  })

  test('has a connection that becomes free closed for another client that waits, the longest first', async () => {
    open({ connections: 1 })
    const sent = [sendFor(ann, '/a'), sendFor(bob, '/b'), sendFor(cid, '/c')]
    for (const path of ['/a', '/b', '/c']) {
      const connection = await arrives(path)
      assert.equal(upstream.received.split('GET').length - 1, ['/a', '/b', '/c'].indexOf(path) + 1)
      upstream.connections[connection]?.socket.write(response('ok'))
    }
    for (const each of sent) assert.equal((await each.settled()).status, 200)
    assert.equal(upstream.connections.length, 3)
  })

  test('counts those who wait for all clients together', async () => {
    open({ connections: 1, queued: 2 })
    const sent = [sendFor(ann, '/a'), sendFor(bob, '/b'), sendFor(cid, '/c'), sendFor(client(4), '/d')]
    assert.equal((await (sent[3] as Sent).settled()).failure?.code, 'overloaded')
    assert.equal(endpoint.active, 3)
  })

  test('gives the place of a client that leaves to the next', async () => {
    open({ connections: 1 })
    const first = sendFor(ann, '/a')
    sendFor(bob, '/b')
    first.attempt.cancel()
    await arrives('/b')
  })
})

test('an endpoint that is not told of clients shares its connections among them', async () => {
  const upstream = await new ScriptedUpstream(({ socket }) => socket.write(response('ok'))).open()
  const endpoint = endpointAt(upstream.port)
  await send(endpoint, get(), 'pooled', ann).settled()
  await send(endpoint, get(), 'pooled', bob).settled()
  assert.equal(upstream.connections.length, 1)
  assert.ok(upstream.received.startsWith('GET'))
  endpoint.retire()
  await upstream.close()
})
