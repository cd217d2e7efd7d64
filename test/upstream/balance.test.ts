import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Balance } from '../../src/upstream/balance.js'
import type { Endpoint } from '../../src/upstream/endpoint.js'
import { type Share, Upstream } from '../../src/upstream/upstream.js'
import { until } from '../support/deadline.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'
import { endpointAt, namedEndpoints, send } from './endpoint-at.js'

interface Group {
  readonly balance: Balance
  readonly weights?: readonly number[]
  readonly backups?: readonly number[]
  readonly random?: () => number
}

function upstreamOf(endpoints: readonly Endpoint[], { weights = [], backups = [], ...more }: Group): Upstream {
  const shareOf = (index: number): Share => ({ weight: weights[index] ?? 1, isBackup: backups.includes(index) })
  const shares = new Map(endpoints.map((endpoint, index) => [endpoint, shareOf(index)]))
  return new Upstream({ name: 'test', endpoints, shares, ...more })
}

function choices(upstream: Upstream, count: number, tried: readonly Endpoint[] = []): string[] {
  return Array.from({ length: count }, () => upstream.choose(0, tried)?.label ?? 'none')
}

function countsOf(labels: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const label of labels) counts[label] = (counts[label] ?? 0) + 1
  return counts
}

/** The same numbers on each run, evenly spread. */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 0x1_0000_0000
  }
}

/** Down as its checks would have it, without any. */
function down(endpoint: Endpoint): Endpoint {
  Object.defineProperty(endpoint, 'isUp', { value: false })
  Object.defineProperty(endpoint, 'isAvailable', { value: false })
  return endpoint
}

describe('round-robin', () => {
  test('takes each endpoint in turn', () => {
    const upstream = upstreamOf(namedEndpoints('a', 'b', 'c'), { balance: { kind: 'round-robin' } })
    assert.equal(choices(upstream, 7).join(' '), 'a b c a b c a')
  })

  test('follows weights exactly, and smoothly', () => {
    const upstream = upstreamOf(namedEndpoints('a', 'b', 'c'), { balance: { kind: 'round-robin' }, weights: [5, 1, 1] })
    assert.equal(choices(upstream, 7).join(''), 'aabacaa')
    assert.deepEqual(countsOf(choices(upstream, 700)), { a: 500, b: 100, c: 100 })
  })

  test('leaves out what was tried and what is down, and keeps the others balanced', () => {
    const [a, b, c, d] = namedEndpoints('a', 'b', 'c', 'd') as [Endpoint, Endpoint, Endpoint, Endpoint]
    const upstream = upstreamOf([a, down(b), c, d], { balance: { kind: 'round-robin' } })
    assert.deepEqual(countsOf(choices(upstream, 100, [a])), { c: 50, d: 50 })
    assert.equal(upstream.choose(0, [a, c, d]), undefined)
  })
})

describe('backups', () => {
  test('get nothing while another is available, everything when none is, and share it by weight', () => {
    const [a, b, c, d] = namedEndpoints('a', 'b', 'c', 'd') as [Endpoint, Endpoint, Endpoint, Endpoint]
    const upstream = upstreamOf([a, b, c, d], {
      balance: { kind: 'round-robin' },
      weights: [1, 1, 2, 1],
      backups: [2, 3],
    })
    assert.deepEqual(countsOf(choices(upstream, 100)), { a: 50, b: 50 })
    down(a)
    assert.deepEqual(countsOf(choices(upstream, 100)), { b: 100 })
    down(b)
    assert.deepEqual(countsOf(choices(upstream, 99)), { c: 66, d: 33 })
    down(c)
    down(d)
    assert.equal(upstream.choose(0, []), undefined)
  })

  test('are where a retry goes when all others were tried', () => {
    const [a, b] = namedEndpoints('a', 'b') as [Endpoint, Endpoint]
    const upstream = upstreamOf([a, b], { balance: { kind: 'round-robin' }, backups: [1] })
    assert.equal(upstream.choose(0, [a]), b)
    assert.equal(upstream.choose(0, [a, b]), undefined)
  })
})

describe('policies that look at requests in flight', () => {
  async function busy(counts: readonly number[]): Promise<{ endpoints: Endpoint[]; end(): Promise<void> }> {
    const silent = await new ScriptedUpstream(() => undefined).open()
    const endpoints = counts.map((_, index) => endpointAt(silent.port, { label: 'abc'[index] as string }))
    const sent = endpoints.flatMap((endpoint, index) =>
      Array.from({ length: counts[index] ?? 0 }, () => send(endpoint)),
    )
    await silent.accepts(sent.length)
    assert.deepEqual(
      endpoints.map(({ active }) => active),
      counts,
    )
    const end = (): Promise<void> => {
      for (const { attempt } of sent) attempt.cancel()
      return silent.close()
    }
    return { endpoints, end }
  }

  test('least-requests takes the endpoint with the fewest', async () => {
    const { endpoints, end } = await busy([3, 1, 2])
    assert.deepEqual(countsOf(choices(upstreamOf(endpoints, { balance: { kind: 'least-requests' } }), 10)), { b: 10 })
    await end()
  })

  test('least-requests counts them by weight', async () => {
    const { endpoints, end } = await busy([3, 2])
    const just = upstreamOf(endpoints, { balance: { kind: 'least-requests' }, weights: [2, 1] })
    assert.deepEqual(countsOf(choices(just, 10)), { a: 10 })
    const notQuite = upstreamOf(endpoints, { balance: { kind: 'least-requests' }, weights: [4, 3] })
    assert.deepEqual(countsOf(choices(notQuite, 10)), { b: 10 })
    await end()
  })

  test('least-requests shares among equals by weight, or an idle upstream would use one endpoint', () => {
    const upstream = upstreamOf(namedEndpoints('a', 'b'), { balance: { kind: 'least-requests' }, weights: [3, 1] })
    assert.deepEqual(countsOf(choices(upstream, 100)), { a: 75, b: 25 })
  })

  test('random-two takes the better of two drawn: the worst one never, the others alike', async () => {
    const { endpoints, end } = await busy([3, 0, 0])
    const upstream = upstreamOf(endpoints, { balance: { kind: 'random-two' }, random: seededRandom(7) })
    const { a, b = 0, c = 0 } = countsOf(choices(upstream, 3000))
    assert.equal(a, undefined)
    assert.ok(Math.abs(b - c) < 300, `${b} and ${c}`)
    await end()
  })

  test('random-two draws by weight', () => {
    const random = seededRandom(7)
    const upstream = upstreamOf(namedEndpoints('a', 'b'), { balance: { kind: 'random-two' }, weights: [3, 1], random })
    const { a = 0 } = countsOf(choices(upstream, 4000))
    assert.ok(Math.abs(a - 3000) < 200, String(a))
  })

  test('random-two takes what is left, and the one that chance points at when all is equal', () => {
    const [a, b] = namedEndpoints('a', 'b') as [Endpoint, Endpoint]
    const last = upstreamOf([a, b], { balance: { kind: 'random-two' }, random: () => 0.999 })
    assert.equal(last.choose(0, []), b)
    assert.equal(last.choose(0, [b]), a)
    assert.equal(last.choose(0, [a, b]), undefined)
  })

  test('a request counts from the moment it waits until its answer is whole', async () => {
    const slow = await new ScriptedUpstream(({ socket }) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nok'),
    ).open()
    const endpoint = endpointAt(slow.port)
    const outcome = send(endpoint)
    assert.equal(endpoint.active, 1)
    await until('half the answer', () => outcome.body === 'ok')
    assert.equal(endpoint.active, 1)
    slow.connections[0]?.socket.write('ok')
    await outcome.settled()
    assert.equal(endpoint.active, 0)
    slow.script = ({ socket }) => socket.write(response('ok'))
    await send(endpoint).settled()
    assert.equal(endpoint.active, 0)
    await slow.close()
  })
})

describe('hash', () => {
  const names = Array.from({ length: 10 }, (_, index) => `http://10.0.0.${index}:80`)
  const balance: Balance = { kind: 'hash', key: { kind: 'client' } }
  const keys = Array.from({ length: 10_000 }, (_, index) => `203.0.113.${index}`)

  function hashFor(upstream: Upstream, clientAddress: string): number {
    return upstream.hashOf({ clientAddress, host: 'h', path: '/', header: () => undefined, cookie: () => undefined })
  }

  function placesIn(upstream: Upstream): string[] {
    return keys.map((key) => upstream.choose(hashFor(upstream, key), [])?.label ?? 'none')
  }

  test('gives a key the same endpoint each time, whoever asks', () => {
    const places = placesIn(upstreamOf(namedEndpoints(...names), { balance }))
    assert.deepEqual(placesIn(upstreamOf(namedEndpoints(...names), { balance })), places)
    const shuffled = [...names].reverse()
    assert.deepEqual(placesIn(upstreamOf(namedEndpoints(...shuffled), { balance })), places)
  })

  test('spreads keys evenly', () => {
    const counts = countsOf(placesIn(upstreamOf(namedEndpoints(...names), { balance })))
    for (const count of Object.values(counts)) assert.ok(count > 850 && count < 1150, String(count))
  })

  test('spreads keys by weight', () => {
    const weights = [4, ...Array(9).fill(1)]
    const counts = countsOf(placesIn(upstreamOf(namedEndpoints(...names), { balance, weights })))
    const share = counts[names[0] as string] ?? 0
    assert.ok(Math.abs(share - (10_000 * 4) / 13) < 250, String(share))
  })

  for (const [what, lose] of Object.entries({
    'is removed': (endpoints: Endpoint[]) => endpoints.slice(1),
    'is down': (endpoints: Endpoint[]) => [down(endpoints[0] as Endpoint), ...endpoints.slice(1)],
  })) {
    test(`moves only the keys of an endpoint that ${what}, and spreads those`, () => {
      const before = placesIn(upstreamOf(namedEndpoints(...names), { balance }))
      const after = placesIn(upstreamOf(lose(namedEndpoints(...names)), { balance }))
      const moved = keys.flatMap((_, index) => (before[index] === after[index] ? [] : [index]))
      assert.ok(moved.every((index) => before[index] === names[0]))
      assert.equal(moved.length, before.filter((place) => place === names[0]).length)
      assert.equal(new Set(moved.map((index) => after[index])).size, names.length - 1)
    })
  }

  test('moves to an endpoint that comes only the keys that are its own now', () => {
    const before = placesIn(upstreamOf(namedEndpoints(...names.slice(1)), { balance }))
    const after = placesIn(upstreamOf(namedEndpoints(...names), { balance }))
    for (const [index, place] of after.entries()) assert.ok(place === before[index] || place === names[0])
  })

  test('moves keys only to the endpoint whose weight has grown', () => {
    const before = placesIn(upstreamOf(namedEndpoints(...names), { balance }))
    const after = placesIn(upstreamOf(namedEndpoints(...names), { balance, weights: [2] }))
    for (const [index, place] of after.entries()) assert.ok(place === before[index] || place === names[0])
  })

  test('takes each kind of key, and nothing else of a request', () => {
    const facts = {
      clientAddress: 'a',
      host: 'b',
      path: 'c',
      header: (name: string) => (name === 'x-user' ? 'd' : undefined),
      cookie: (name: string) => (name === 'sid' ? 'e' : undefined),
    }
    const hashed = (balance: Balance, of = facts): number => upstreamOf([], { balance, random: () => 0.5 }).hashOf(of)
    const hashes = [
      hashed({ kind: 'hash', key: { kind: 'client' } }),
      hashed({ kind: 'hash', key: { kind: 'host' } }),
      hashed({ kind: 'hash', key: { kind: 'path' } }),
      hashed({ kind: 'hash', key: { kind: 'header', name: 'x-user' } }),
      hashed({ kind: 'hash', key: { kind: 'cookie', name: 'sid' } }),
    ]
    assert.equal(new Set(hashes).size, hashes.length)
    assert.equal(
      hashed({ kind: 'hash', key: { kind: 'path' } }, { ...facts, clientAddress: 'z', host: 'z' }),
      hashes[2],
    )
    assert.equal(hashed({ kind: 'round-robin' }), 0)
  })

  test('spreads requests that have no key at random, since they have nothing in common', () => {
    const random = seededRandom(3)
    const upstream = upstreamOf(namedEndpoints('a', 'b'), {
      balance: { kind: 'hash', key: { kind: 'cookie', name: 'sid' } },
      random,
    })
    const places = Array.from({ length: 1000 }, () => upstream.choose(hashFor(upstream, ''), [])?.label ?? 'none')
    const { a = 0 } = countsOf(places)
    assert.ok(a > 400 && a < 600, String(a))
  })
})

describe('the order of an upstream', () => {
  test('is that in which its endpoints are tried, backups last', () => {
    const endpoints = namedEndpoints('a', 'b', 'c')
    const upstream = upstreamOf(endpoints, { balance: { kind: 'round-robin' }, weights: [1, 1, 2], backups: [1] })
    assert.deepEqual(
      upstream.order(0).map(({ label }) => label),
      ['c', 'a', 'b'],
    )
  })

  test('is that of the key for a hash', () => {
    const upstream = upstreamOf(namedEndpoints('a', 'b', 'c'), { balance: { kind: 'hash', key: { kind: 'host' } } })
    const [first, second] = upstream.order(42)
    assert.equal(upstream.choose(42, []), first)
    assert.equal(upstream.choose(42, [first as Endpoint]), second)
  })

  test('is told without taking anybody out of turn', () => {
    const upstream = upstreamOf(namedEndpoints('a', 'b'), { balance: { kind: 'round-robin' } })
    upstream.order(0)
    assert.equal(choices(upstream, 3).join(''), 'aba')
  })
})
