import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { checkedBytesMax } from '../../src/upstream/check-exchange.js'
import { CheckedHealth } from '../../src/upstream/checked-health.js'
import type { Endpoint } from '../../src/upstream/endpoint.js'
import type { EndpointOptions } from '../../src/upstream/endpoint-options.js'
import { type HealthCheckOptions, jittered } from '../../src/upstream/health-check.js'
import { Upstream } from '../../src/upstream/upstream.js'
import { until } from '../support/deadline.js'
import { answering, response, type Script, ScriptedUpstream } from '../support/scripted-upstream.js'
import { calmSettings, endpointAt, loopback, observerOf, send } from './endpoint-at.js'

const wellAnswer = response('ok')
const illAnswer = 'HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n'

const quick: HealthCheckOptions = {
  path: '/healthz',
  host: 'shop.example',
  expect: [{ from: 200, to: 399 }],
  intervalMs: 1,
  timeoutMs: 15_000,
  rise: 2,
  fall: 3,
}

describe('the state that checks lead to', () => {
  const thresholds = { rise: 2, fall: 3 }

  /** The state after each result: `+` is well, `-` is not. */
  function states(results: string): string {
    const health = new CheckedHealth()
    return Array.from(results, (result) => {
      health.take(result === '+', thresholds)
      return health.isUp ? 'u' : 'd'
    }).join('')
  }

  test('is up before the first check, and what that one says behind it', () => {
    assert.equal(new CheckedHealth().isUp, true)
    assert.equal(states('-'), 'd')
    assert.equal(states('+'), 'u')
  })

  test('falls after `fall` failures in a row, not after one less', () => {
    assert.equal(states('+--+---'), 'uuuuuud')
  })

  test('rises after `rise` successes in a row, not after one less', () => {
    assert.equal(states('-+-++'), 'ddddu')
  })

  test('is told as a change only when it changes', () => {
    const health = new CheckedHealth()
    const changes = Array.from('-++---', (result) => health.take(result === '+', thresholds))
    assert.deepEqual(changes, [true, false, true, false, false, true])
  })
})

test('checks are spread by a tenth to both sides', () => {
  assert.equal(jittered(1000, 0), 900)
  assert.equal(jittered(1000, 0.5), 1000)
  assert.ok(jittered(1000, 0.999_999) < 1100)
})

describe('an endpoint that is checked', () => {
  let server: ScriptedUpstream
  let endpoint: Endpoint
  let log: string[]

  beforeEach(async () => {
    server = await new ScriptedUpstream(answering(wellAnswer)).open()
    log = []
  })
  afterEach(async () => {
    endpoint.retire()
    await server.close()
  })

  function check(healthCheck: Partial<HealthCheckOptions> = {}, more: Partial<EndpointOptions> = {}): Upstream {
    const alone = { observer: observerOf(log), random: () => 0, label: 'it' }
    endpoint = endpointAt(server.port, { healthCheck: { ...quick, ...healthCheck }, ...alone, ...more })
    const upstream = new Upstream({ name: 'test', endpoints: [endpoint] })
    upstream.activate()
    return upstream
  }

  test('gets whole requests, each on a connection of its own that ends with it', async () => {
    check()
    await server.accepts(3)
    const [first] = server.connections
    assert.match(first?.received ?? '', /^GET \/healthz HTTP\/1\.1\r\nhost: shop\.example\r\n/)
    assert.match(first?.received ?? '', /\r\nconnection: close\r\n[\s\S]*\r\naccept: \*\/\*\r\n\r\n$/)
    assert.equal(first?.received.split('GET').length, 2)
    await until('the first connection ends', () => first?.isClosed === true)
    assert.deepEqual(log, [])
  })

  test('is up until the first check says otherwise, which is then believed at once', async () => {
    server.script = answering(illAnswer)
    const upstream = check()
    assert.equal(upstream.choose(0, []), endpoint)
    await until('it is down', () => !endpoint.isUp)
    assert.equal(server.connections.length, 1)
    assert.equal(upstream.choose(0, []), undefined)
    assert.deepEqual(log, ['it down by check: status 500'])
  })

  test('comes back after `rise` checks, and changes alone are told', async () => {
    server.script = answering(illAnswer)
    check()
    await server.accepts(4)
    const { length } = server.connections
    server.script = answering(wellAnswer)
    await until('it is up', () => endpoint.isUp)
    assert.ok(server.connections.length >= length + 1)
    assert.deepEqual(log, ['it down by check: status 500', 'it up by check: its checks succeed'])
  })

  test('falls after `fall` checks once it was well', async () => {
    let failures = 0
    check()
    await server.accepts(2)
    server.script = (connection, upstream) => {
      failures++
      answering(illAnswer)(connection, upstream)
    }
    await until('it is down', () => !endpoint.isUp)
    assert.equal(failures, 3)
  })

  const faults: Readonly<Record<string, [Script, RegExp]>> = {
    'closes the connection': [({ socket }) => socket.destroy(), /upstream_reset/],
    'does not speak HTTP': [({ socket }) => socket.end('hello\r\n\r\n'), /upstream_protocol/],
    'ends in the middle of its answer': [
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'),
      /upstream_reset/,
    ],
    'answers a status that is not expected': [answering('HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n'), /status 404/],
  }
  for (const [what, [script, detail]] of Object.entries(faults)) {
    test(`is down when it accepts connections but ${what}`, async () => {
      server.script = script
      check()
      await until('it is down', () => !endpoint.isUp)
      assert.match(log[0] ?? '', detail)
    })
  }

  test('is down when it accepts connections but never answers, or never ends its answer', async () => {
    server.script = () => undefined
    check({ timeoutMs: 100 })
    await until('it is down', () => !endpoint.isUp)
    assert.deepEqual(log, ['it down by check: not done within 100 ms'])
    await until('the connection is given up', () => server.connections[0]?.isClosed === true)
  })

  test('is down when it cannot be reached, and up again once it can', async () => {
    const { port } = server
    await server.close()
    server = await new ScriptedUpstream(() => undefined).open()
    check({}, { address: loopback(port) })
    await until('it is down', () => !endpoint.isUp)
    assert.match(log[0] ?? '', /upstream_unreachable/)
    const again = createServer((socket) => socket.once('data', () => socket.end(wellAnswer))).listen(port, '127.0.0.1')
    await until('it is up', () => endpoint.isUp)
    again.close()
  })

  for (const [status, isUp] of [
    [199 + 1, true],
    [299, true],
    [300, false],
    [403, false],
    [404, true],
    [405, false],
  ] as const) {
    test(`is ${isUp ? 'up' : 'down'} with ${status} where 200-299 and 404 are expected`, async () => {
      server.script = answering(`HTTP/1.1 ${status} X\r\ncontent-length: 0\r\n\r\n`)
      check({
        expect: [
          { from: 200, to: 299 },
          { from: 404, to: 404 },
        ],
      })
      await server.accepts(3)
      assert.equal(endpoint.isUp, isUp)
    })
  }

  test('is well with an answer that goes on for ever, of which no more is read than need be', async () => {
    let sent = 0
    server.script = ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const more = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(16_384))) sent += 16_384
      }
      socket.on('drain', more)
      more()
    }
    check()
    await until('the second check', () => server.connections.length > 1)
    await until('the first is over', () => server.connections[0]?.isClosed === true)
    assert.ok(sent >= checkedBytesMax)
    assert.equal(endpoint.isUp, true)
  })

  test('is checked no more once it is retired, and keeps no connection', async () => {
    server.script = () => undefined
    check()
    await server.accepts(1)
    endpoint.retire()
    await server.isDeserted()
    assert.equal(server.connections.length, 1)
  })

  test('keeps its state when a reload changes the check, and forgets it when there is none any more', async () => {
    server.script = answering(illAnswer)
    check()
    await until('it is down', () => !endpoint.isUp)
    endpoint.reconfigure({ ...calmSettings, healthCheck: { ...quick, path: '/other' } })
    assert.equal(endpoint.isUp, false)
    await server.receives(/GET \/other/)
    assert.equal(endpoint.isUp, false)
    endpoint.reconfigure({ ...calmSettings, healthCheck: undefined })
    assert.equal(endpoint.isUp, true)
    assert.deepEqual(log.at(-1), 'it up by check: it is checked no more')
  })

  test('is checked by the same clockwork over a reload that changes nothing', async () => {
    check({ intervalMs: 60_000 })
    await server.accepts(1)
    endpoint.reconfigure({ ...calmSettings, healthCheck: { ...quick, intervalMs: 60_000 } })
    await send(endpoint).settled()
    assert.equal(server.received.match(/healthz/g)?.length, 1)
  })

  test('starts anew with requests when its checks bring it back', async () => {
    const passive = { failures: 1, windowMs: 60_000, ejectMs: 60_000 }
    server.script = answering(illAnswer)
    const upstream = check({ rise: 1 }, { passive })
    const other = endpointAt(server.port)
    new Upstream({ name: 'pair', endpoints: [endpoint, other] }).activate()
    await until('it is down', () => !endpoint.isUp)
    server.script = ({ socket }) => socket.destroy()
    await send(endpoint).settled()
    server.script = answering(wellAnswer)
    await until('it is up', () => endpoint.isUp)
    assert.equal(endpoint.isAvailable, true)
    assert.equal(upstream.choose(0, []), endpoint)
  })
})
