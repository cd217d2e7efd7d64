import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { configOf, listeners, mainFile, site, upstreamOf } from './loaded.js'

describe('an upstream', () => {
  test('fills in every default of an upstream', () => {
    const { upstreams } = configOf(`${listeners}upstreams:\n  shop: { endpoints: [http://a:1] }\n`)
    assert.deepEqual(upstreams.get('shop'), {
      name: 'shop',
      place: { file: mainFile, line: 3, column: 3 },
      endpoints: [
        {
          address: { kind: 'tcp', host: 'a', port: 1, tls: false },
          label: 'http://a:1',
          weight: 1,
          isBackup: false,
        },
      ],
      protocol: 'http1',
      tls: undefined,
      balance: { kind: 'round-robin' },
      healthCheck: undefined,
      passive: { failures: 5, windowMs: 30_000, ejectMs: 10_000 },
      retries: { attempts: 2, on: ['connect', 'reset'] },
      limits: { connections: 10_000, queued: 1000, queueMs: 5000 },
      timeouts: { connectMs: 5000, responseMs: 95_000, idleMs: 4000, tunnelIdleMs: 3_600_000 },
      proxyProtocol: undefined,
    })
  })

  test('reads everything that an upstream may have', () => {
    const shop = upstreamOf(`
    endpoints: [{ url: "https://A:1", weight: 2 }, { url: unix:/run/b.sock, backup: true }]
    protocol: auto
    tls: { serverName: Shop.Internal, verify: false, minVersion: TLSv1.3 }
    balance: { hash: { header: X-User } }
    healthCheck: { path: /healthz, expect: "200,300-399", intervalMs: 1000, rise: 1, fall: 1, host: "a:1" }
    passive: { failures: 0 }
    retries: { attempts: 3, on: [connect, 503] }
    proxyProtocol: v2`)
    assert.deepEqual(
      shop.endpoints.map(({ label, weight, isBackup }) => [label, weight, isBackup]),
      [
        ['https://a:1', 2, false],
        ['unix:/run/b.sock', 1, true],
      ],
    )
    assert.deepEqual([shop.protocol, shop.proxyProtocol, shop.passive.failures], ['auto', 'v2', 0])
    assert.deepEqual(shop.tls, {
      serverName: 'shop.internal',
      ca: undefined,
      client: undefined,
      verify: false,
      minVersion: 'TLSv1.3',
    })
    assert.deepEqual(shop.balance, { kind: 'hash', key: { kind: 'header', name: 'x-user' } })
    assert.deepEqual(shop.healthCheck, {
      path: '/healthz',
      expect: [
        { from: 200, to: 200 },
        { from: 300, to: 399 },
      ],
      intervalMs: 1000,
      timeoutMs: 1000,
      rise: 1,
      fall: 1,
      host: 'a:1',
    })
    assert.deepEqual(shop.retries, { attempts: 3, on: ['connect', 503] })
  })

  test('every way to balance is read', () => {
    const ways = ['random-two', '{ hash: client }', '{ hash: { cookie: Session } }']
    assert.deepEqual(
      ways.map((way) => upstreamOf(` { endpoints: [http://a], balance: ${way} }`).balance),
      [
        { kind: 'random-two' },
        { kind: 'hash', key: { kind: 'client' } },
        { kind: 'hash', key: { kind: 'cookie', name: 'Session' } },
      ],
    )
  })

  test("a bound on time is the site's, else its upstream's, else that of all", () => {
    const text = `${listeners}timeouts: { upstreamConnectMs: 1, upstreamResponseMs: 2, upstreamIdleMs: 3, tunnelIdleMs: 4 }
upstreams: { shop: { endpoints: [http://a], timeouts: { responseMs: 20, idleMs: 30 } } }
vhosts:
${site('a.example', 'upstream: shop, timeouts: { idleMs: 300 }')}${site('b.example', 'upstream: http://a')}`
    const { vhosts } = configOf(text)
    assert.deepEqual(
      vhosts.map(({ answer }) => answer.kind === 'upstream' && answer.timeouts),
      [
        { connectMs: 1, responseMs: 20, idleMs: 300, tunnelIdleMs: 4 },
        { connectMs: 1, responseMs: 2, idleMs: 3, tunnelIdleMs: 4 },
      ],
    )
  })

  test('sites and routes that name the same thing share one upstream', () => {
    const own = 'upstream: HTTP://A:80, routes: [{ path: /b, upstream: shop }, { path: /a, upstream: http://a }]'
    const text = `${listeners}upstreams: { shop: { endpoints: [http://a] } }\nvhosts:\n${site('a.example', own)}`
    const { upstreams, vhosts } = configOf(text)
    const answers = vhosts.flatMap(({ answer, routes }) => [answer, ...routes.map((route) => route.answer)])
    const used = answers.map((answer) => (answer.kind === 'upstream' ? answer.upstream : undefined))
    const [byAddress] = used
    assert.equal(byAddress?.name, 'http://a')
    assert.deepEqual(
      used.map((upstream) => upstream === byAddress),
      [true, false, true],
    )
    assert.equal(used[1], upstreams.get('shop'))
  })

  test('an address of a site that is TLS is verified', () => {
    const { vhosts } = configOf(`${listeners}vhosts:\n${site('a.example', 'upstream: "https://a"')}`)
    const [answer] = vhosts.map((vhost) => vhost.answer)
    assert.deepEqual(answer?.kind === 'upstream' && answer.upstream.tls, {
      serverName: undefined,
      ca: undefined,
      client: undefined,
      verify: true,
      minVersion: 'TLSv1.2',
    })
  })
})
