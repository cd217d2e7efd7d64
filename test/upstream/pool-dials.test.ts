import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { openConnection } from '../../src/upstream/codec.js'
import { ConnectionPool, type PoolOwner } from '../../src/upstream/connection-pool.js'
import { Dial, type DialObserver } from '../../src/upstream/dial.js'
import { Places } from '../../src/upstream/places.js'
import { Lookups } from '../../src/upstream/resolve-lookups.js'
import type { EstablishedTransport } from '../../src/upstream/transport.js'
import { DialTarget } from '../../src/upstream/transport-target.js'
import type { ClientConnection, ClientConnectionOwner } from '../../src/wire/client-connection.js'
import { Failure } from '../../src/wire/failure.js'
import { until } from '../support/deadline.js'
import { answering, response, ScriptedUpstream } from '../support/scripted-upstream.js'
import { calmSettings, get, loopback, Outcome, type Sent } from './endpoint-at.js'

/** The owner of a pool under test: connections are made when the test says so. */
class SlowOwner implements PoolOwner {
  readonly observers: DialObserver[] = []
  readonly failures: Failure[] = []
  cancelled = 0
  deserted = 0
  readonly #target: DialTarget

  constructor(port: number) {
    const observer = { isInUse: () => true, onAddresses: () => undefined, onPeerCertificate: () => undefined }
    this.#target = new DialTarget({ address: loopback(port), protocol: 'http1', lookups: new Lookups(), observer })
  }

  dial(observer: DialObserver): { cancel(): void } {
    this.observers.push(observer)
    return { cancel: () => this.cancelled++ }
  }

  open(transport: EstablishedTransport, owner: ClientConnectionOwner): ClientConnection {
    return openConnection({ transport, ...calmSettings, owner })
  }

  /** Makes the connection of the dial with this number. */
  connect(index: number): void {
    new Dial({ target: this.#target, connectMs: 15_000 }, this.observers[index] as DialObserver)
  }

  refuse(index: number): void {
    this.observers[index]?.onFailure(new Failure('upstream_unreachable', 'refused', { retry: 'always' }))
  }

  onAnswered(): void {}

  onFailed(failure: Failure): void {
    this.failures.push(failure)
  }

  onDeserted(): void {
    this.deserted++
  }
}

describe('connections in the making', () => {
  let upstream: ScriptedUpstream
  let owner: SlowOwner
  let pool: ConnectionPool

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(() => undefined).open()
    owner = new SlowOwner(upstream.port)
  })
  afterEach(async () => {
    pool.retire()
    await upstream.close()
  })

  function open(limits: { connections?: number; queued?: number; queueMs?: number; isShared?: boolean } = {}): void {
    const { isShared = false, ...more } = limits
    const places = new Places({ connections: 10, queued: 10, queueMs: 60_000, ...more }, () => pool.closeIdle())
    pool = new ConnectionPool({ owner, places, isShared })
  }

  function send(): Sent {
    const outcome = new Outcome()
    return Object.assign(outcome, { attempt: pool.send(get(), outcome, 'pooled') })
  }

  test('serve who waits longest, not who caused them', async () => {
    open()
    upstream.script = answering(response('ok'))
    const [a, b] = [send(), send()]
    owner.connect(1)
    await a.settled()
    await b.settled()
    assert.equal(upstream.connections.length, 1, 'the connection that became free served the other')
  })

  test('are not awaited by one whom a connection that becomes free serves first', async () => {
    open()
    const a = send()
    owner.connect(0)
    await upstream.receives(/GET/)
    const b = send()
    assert.equal(owner.observers.length, 2)
    upstream.script = answering(response('ok'))
    upstream.connections[0]?.socket.write(response('ok'))
    await a.settled()
    upstream.connections[0]?.socket.write(response('ok'))
    assert.equal((await b.settled()).status, 200)
    assert.equal(upstream.connections.length, 1)
    owner.connect(1)
    await until('the late connection is kept', () => pool.connections === 2)
    assert.equal(pool.active, 0)
  })

  test('fail nobody for whom another one is on its way', () => {
    open()
    const [a, b] = [send(), send()]
    a.attempt.cancel()
    assert.equal(owner.cancelled, 1, 'one too many is given up')
    owner.refuse(0)
    assert.equal(b.failure?.code, 'upstream_unreachable')
    assert.equal(a.failure, undefined)
  })

  test('fail one for each that is lost, the one that waits longest, and tell the endpoint of each', () => {
    open({ connections: 2 })
    const sent = [send(), send(), send()]
    owner.refuse(1)
    assert.deepEqual(
      sent.map(({ failure }) => failure?.code),
      ['upstream_unreachable', undefined, undefined],
    )
    assert.equal(owner.observers.length, 3, 'the one that waited for a place has a connection made')
    assert.equal(owner.failures.length, 1)
  })

  test('keep who waits for them from being overdue: their own deadline counts', async () => {
    open({ connections: 1, queueMs: 50 })
    const [a, b] = [send(), send()]
    await b.settled()
    assert.equal(b.failure?.code, 'overloaded')
    assert.equal(a.failure, undefined)
    upstream.script = answering(response('ok'))
    owner.connect(0)
    assert.equal((await a.settled()).status, 200)
  })

  test('of a shared wire are one for many, and fail all of them', () => {
    open({ isShared: true, queued: 200 })
    const sent = Array.from({ length: 101 }, () => send())
    assert.equal(owner.observers.length, 2, '100 streams are expected of each')
    owner.refuse(0)
    assert.equal(sent.filter(({ failure }) => failure !== undefined).length, 1)
    owner.refuse(1)
    assert.equal(sent.filter(({ failure }) => failure !== undefined).length, 101)
    assert.equal(owner.observers.length, 2)
  })

  test('of a wire that turns out to be HTTP/1 are followed by one for each who waits', async () => {
    open({ isShared: true })
    const sent = [send(), send(), send()]
    assert.equal(owner.observers.length, 1)
    owner.connect(0)
    await upstream.receives(/GET/)
    assert.equal(owner.observers.length, 3)
    owner.connect(1)
    owner.connect(2)
    await upstream.accepts(3)
    await until('all are sent', () => upstream.received.split('GET').length === 4)
    for (const { socket } of upstream.connections) socket.write(response('ok'))
    for (const each of sent) assert.equal((await each.settled()).status, 200)
  })

  test('that fail for want of something of our own are not held against the endpoint', () => {
    open()
    const sent = send()
    const cause = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' })
    owner.observers[0]?.onFailure(new Failure('upstream_unreachable', 'EMFILE', { retry: 'always', cause }))
    assert.equal(sent.failure?.code, 'upstream_unreachable')
    assert.deepEqual(owner.failures, [])
  })

  test('leave a deserted pool when its only request finds no place to wait: one made for a client is forgotten', async () => {
    const places = new Places({ connections: 1, queued: 0, queueMs: 60_000 }, () => undefined)
    pool = new ConnectionPool({ owner, places, isShared: false })
    const late = new ConnectionPool({ owner, places, isShared: false })
    send()
    const outcome = new Outcome()
    late.send(get(), outcome, 'pooled')
    assert.equal((await outcome.settled()).failure?.code, 'overloaded')
    assert.equal(owner.deserted, 1)
  })

  test('leave a deserted pool when the last one is given up', () => {
    open()
    send().attempt.cancel()
    assert.equal(owner.cancelled, 1)
    assert.equal(owner.deserted, 1)
  })
})
