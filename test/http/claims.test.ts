// Claims of who asks, over both wires: from listed sources and others, sound and forged, and what an endpoint gets of them.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { AddressRule } from '../../src/http/address-rule.js'
import { ClientClaims } from '../../src/http/client-claims.js'
import { AddressSet, type AddressTest } from '../../src/net/cidr.js'
import { parseCidrList } from '../../src/net/cidr-list.js'
import type { RequestEntry } from '../../src/telemetry/request-line.js'
import type { ClientWire, Line, WireRequest, WireResponse } from '../contract/client-wire.js'
import { http1Wire } from '../contract/http1-wire.js'
import { http2Wire } from '../contract/http2-wire.js'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, type GatewayOptions } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response } from '../support/scripted-upstream.js'

const setOf = (...ranges: readonly string[]): AddressTest => new AddressSet(parseCidrList(ranges.join('\n')).ranges)
const us = setOf('127.0.0.0/8')
const others = setOf('192.0.2.0/24')

interface Belief {
  readonly header?: string
  readonly from?: AddressTest
  readonly trustProto?: boolean
}

function claims({ header = 'CF-Connecting-IP', from = us, trustProto = false }: Belief = {}): ClientClaims {
  return new ClientClaims({ sources: [{ from, header, hopsMax: 10 }], trustProto })
}

/** What an endpoint and the log are told of one request. */
interface Told {
  readonly response: WireResponse
  readonly lines: readonly string[]
  readonly trailers: string
  readonly entry: RequestEntry
}

for (const wire of [http1Wire, http2Wire] satisfies readonly ClientWire[]) {
  describe(`claims in request headers over ${wire.name}`, () => {
    let upstream: ReadingUpstream
    let gateway: Gateway | undefined

    beforeEach(async () => {
      upstream = await new ReadingUpstream(() => response('ok')).open()
    })
    afterEach(async () => {
      await gateway?.close()
      await upstream.close()
    })

    async function open(view: GatewayOptions['view'], policies: GatewayOptions['policies'] = {}): Promise<void> {
      const sites = { 'a.example': forwardTo(upstream.port) }
      gateway = await new Gateway({ sites, policies, view: view ?? {}, protocol: wire.name }).open()
    }

    async function ask(lines: readonly Line[] = [], more: Partial<WireRequest> = {}): Promise<Told> {
      assert.ok(gateway)
      const client = wire.connect(gateway.port)
      const asked = { entries: gateway.entries.length, requests: upstream.requests.length }
      const answer = await client.request({ host: 'a.example', lines, ...more }).response
      await until('the line of the log', () => gateway?.entries.length === asked.entries + 1)
      client.close()
      const { head = '', trailers = '' } = upstream.requests[asked.requests] ?? {}
      const told = head
        .split('\r\n')
        .slice(1, -2)
        .map((line) => line.toLowerCase())
      return { response: answer, lines: told, trailers, entry: gateway.entries[asked.entries] }
    }

    function named(told: Told, name: string): string[] {
      return told.lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 2))
    }

    function assertUnclaimed(told: Told): void {
      assert.deepEqual([told.entry.claimed, told.entry.claimedBy], [null, null])
      assert.deepEqual(named(told, 'x-forwarded-for'), ['127.0.0.1'])
      assert.match(named(told, 'forwarded').join(), /^for=127\.0\.0\.1;/)
    }

    test('the client that a listed source names is in the log and at the endpoint, once in each form', async () => {
      await open({ claims: claims() })
      const told = await ask([['cf-connecting-ip', '203.0.113.9']])
      assert.deepEqual([told.entry.claimed, told.entry.claimedBy], ['203.0.113.9', 'header:cf-connecting-ip'])
      assert.match(told.entry.peer ?? '', /^127\.0\.0\.1:/)
      assert.deepEqual(named(told, 'x-forwarded-for'), ['203.0.113.9'])
      assert.match(named(told, 'forwarded').join(), /^for=203\.0\.113\.9;/)
      assert.deepEqual(named(told, 'cf-connecting-ip'), ['203.0.113.9'])
      assert.deepEqual([told.entry.connectionClaimed, told.entry.claimRefused], [undefined, undefined])
    })

    test('an IPv6 client has one spelling, and one that is mapped is IPv4', async () => {
      await open({ claims: claims() })
      const six = await ask([['cf-connecting-ip', '2001:DB8:0::7']])
      assert.equal(six.entry.claimed, '2001:db8::7')
      assert.match(named(six, 'forwarded').join(), /^for="\[2001:db8::7\]";/)
      const four = await ask([['cf-connecting-ip', '::ffff:203.0.113.9']])
      assert.deepEqual([four.entry.claimed, ...named(four, 'x-forwarded-for')], ['203.0.113.9', '203.0.113.9'])
    })

    const forged: readonly Line[] = [
      ...['cf-connecting-ip', 'cf-connecting-ipv6', 'true-client-ip', 'fastly-client-ip', 'x-real-ip', 'client-ip'],
      ...['x-client-ip', 'x-cluster-client-ip', 'x-original-forwarded-for', 'x-forwarded-for', 'x-forwarded'],
      ...['forwarded-for', 'x-forwarded-server', 'x-forwarded-scheme', 'x-forwarded-ssl', 'x-forwarded-port'],
      ...[
        'x-original-host',
        'x-host',
        'x-envoy-external-address',
        'cf-visitor',
        'x-original-url',
        'x-forwarded-prefix',
      ],
      ...['x_forwarded_for', 'x-forwarded_for', 'x.forwarded.for', 'x_real_ip', 'cf.connecting.ip', 'true~client~ip'],
    ].map((name) => [name, '6.6.6.6'])

    test('whatever a source that is not listed claims, under any name or look-alike, reaches nobody', async () => {
      for (const view of [{}, { claims: claims({ from: others }) }]) {
        await open(view)
        const told = await ask([
          ...forged,
          ['forwarded', 'for=6.6.6.6'],
          ['x-forwarded-proto', 'http'],
          ['x-mine', '1'],
        ])
        assertUnclaimed(told)
        assert.equal(told.entry.claimRefused, undefined)
        assert.deepEqual(
          told.lines.filter((line) => line.includes('6.6.6.6')),
          [],
        )
        assert.deepEqual(named(told, 'x-forwarded-proto'), ['https'])
        assert.deepEqual(named(told, 'x-mine'), ['1'])
        await gateway?.close()
      }
      gateway = undefined
    })

    test('of a listed source everything goes but the header that is believed', async () => {
      await open({ claims: claims() })
      const told = await ask([
        ...forged.filter(([name]) => name !== 'cf-connecting-ip'),
        ['cf-connecting-ip', '203.0.113.9'],
      ])
      assert.equal(told.entry.claimed, '203.0.113.9')
      assert.deepEqual(
        told.lines.filter((line) => line.includes('6.6.6.6')),
        [],
      )
      assert.deepEqual(named(told, 'cf-connecting-ip'), ['203.0.113.9'])
    })

    const refused: readonly (readonly [what: string, lines: readonly Line[], mistake: string])[] = [
      ['no such header', [], 'missing'],
      ['an empty one', [['cf-connecting-ip', '']], 'not_an_address'],
      ['a name', [['cf-connecting-ip', 'localhost']], 'not_an_address'],
      ['two addresses', [['cf-connecting-ip', '203.0.113.9, 203.0.113.8']], 'not_an_address'],
      ['a zone', [['cf-connecting-ip', 'fe80::1%eth0']], 'not_an_address'],
      ['only a look-alike', [['cf_connecting_ip', '203.0.113.9']], 'missing'],
      [
        'two lines',
        [
          ['cf-connecting-ip', '203.0.113.9'],
          ['cf-connecting-ip', '203.0.113.9'],
        ],
        'duplicated',
      ],
    ]
    for (const [what, lines, mistake] of refused) {
      test(`${what} of a listed source is not believed, not passed on, and no mistake of the client`, async () => {
        await open({ claims: claims() })
        const told = await ask(lines)
        assert.equal(told.response.status, 200)
        assertUnclaimed(told)
        assert.equal(told.entry.claimRefused, mistake)
        assert.deepEqual(
          told.lines.filter((line) => /^cf[-_]connecting/.test(line)),
          [],
        )
        assert.equal((await ask([['cf-connecting-ip', '203.0.113.9']])).entry.claimed, '203.0.113.9')
      })
    }

    test('a header that only the configuration knows is believed, and protected from strangers and look-alikes', async () => {
      await open({ claims: claims({ header: 'X-My-Edge' }) })
      const told = await ask([
        ['x-my-edge', '203.0.113.9'],
        ['x_my_edge', '6.6.6.6'],
        ['x.my.edge', '6.6.6.6'],
      ])
      assert.deepEqual([told.entry.claimed, told.entry.claimedBy], ['203.0.113.9', 'header:x-my-edge'])
      assert.deepEqual(
        told.lines.filter((line) => /^x.my.edge/.test(line)),
        ['x-my-edge: 203.0.113.9'],
      )
      await gateway?.close()
      await open({ claims: claims({ header: 'X-My-Edge', from: others }) })
      const stranger = await ask([
        ['x-my-edge', '6.6.6.6'],
        ['x_my_edge', '6.6.6.6'],
      ])
      assertUnclaimed(stranger)
      assert.deepEqual(
        stranger.lines.filter((line) => line.includes('6.6.6.6')),
        [],
      )
    })

    // Frameworks that merge trailers into headers would take them for the word of the edge.
    test('such a header does not pass behind a body either, whoever sends it', async () => {
      const trailers: readonly Line[] = ['x-my-edge', 'x_my_edge', 'X.My.Edge']
        .map((name): Line => [name, '6.6.6.6'])
        .concat([['x-my-edges', 'kept']])
      for (const from of [us, others]) {
        await open({ claims: claims({ header: 'X-My-Edge', from }) })
        const told = await ask([], { method: 'POST', body: ['hel', 'lo'], trailers })
        assert.equal(told.trailers.toLowerCase(), 'x-my-edges: kept\r\n')
        assert.equal(told.entry.claimed, null)
        await gateway?.close()
      }
    })

    test('X-Forwarded-For is read from its end, past trusted hops, and one line of ours takes its place', async () => {
      await open({ claims: claims({ header: 'X-Forwarded-For' }) })
      const told = await ask([
        ['x-forwarded-for', '6.6.6.6'],
        ['x-forwarded-for', '203.0.113.9, 127.0.0.2'],
      ])
      assert.deepEqual([told.entry.claimed, told.entry.claimedBy], ['203.0.113.9', 'header:x-forwarded-for'])
      assert.deepEqual(named(told, 'x-forwarded-for'), ['203.0.113.9'])
    })

    test('Forwarded is read from its end, past trusted hops, and one line of ours takes its place', async () => {
      await open({ claims: claims({ header: 'Forwarded' }) })
      const told = await ask([
        ['forwarded', 'for=6.6.6.6;host="'],
        ['forwarded', 'for="[2001:db8::7]:4711";proto=http, for="127.0.0.2:80"'],
      ])
      assert.deepEqual([told.entry.claimed, told.entry.claimedBy], ['2001:db8::7', 'header:forwarded'])
      assert.deepEqual(named(told, 'forwarded'), ['for="[2001:db8::7]";host=a.example;proto=https'])
      const hidden = await ask([['forwarded', 'for=_hidden']])
      assertUnclaimed(hidden)
      assert.equal(hidden.entry.claimRefused, 'not_an_address')
    })

    test('of several networks each has its own header, and no other network’s counts', async () => {
      const sources = [
        { from: others, header: 'Fastly-Client-IP', hopsMax: 10 },
        { from: us, header: 'X-My-Edge', hopsMax: 10 },
        { from: us, header: 'CF-Connecting-IP', hopsMax: 10 },
      ]
      await open({ claims: new ClientClaims({ sources, trustProto: false }) })
      const told = await ask([
        ['fastly-client-ip', '6.6.6.6'],
        ['cf-connecting-ip', '6.6.6.7'],
        ['x-my-edge', '203.0.113.9'],
      ])
      assert.deepEqual([told.entry.claimed, told.entry.claimedBy], ['203.0.113.9', 'header:x-my-edge'])
      assert.deepEqual(
        told.lines.filter((line) => line.includes('6.6.6')),
        [],
      )
    })

    test('X-Forwarded-Proto of a listed source is believed where it is one sound line, and passed on in our words', async () => {
      const cases: readonly (readonly [lines: readonly Line[], isPlain: string, isSecure: string])[] = [
        [[['x-forwarded-proto', 'https']], 'https', 'https'],
        [[['x-forwarded-proto', 'http']], 'http', 'http'],
        [[['x-forwarded-proto', 'HTTPS']], 'https', 'https'],
        [[], 'http', 'https'],
        [[['x-forwarded-proto', 'wss']], 'http', 'https'],
        [[['x-forwarded-proto', 'https, http']], 'http', 'https'],
        [[['x-forwarded-proto', '']], 'http', 'https'],
        [
          [
            ['x-forwarded-proto', 'https'],
            ['x-forwarded-proto', 'https'],
          ],
          'http',
          'https',
        ],
        [[['x_forwarded_proto', 'https']], 'http', 'https'],
        [
          [
            ['x-forwarded-ssl', 'on'],
            ['front-end-https', 'on'],
            ['x-forwarded-scheme', 'https'],
          ],
          'http',
          'https',
        ],
      ]
      for (const isSecure of [false, true]) {
        await open({ claims: claims({ trustProto: true }), isSecure })
        for (const [lines, plain, secure] of cases) {
          const told = await ask([['cf-connecting-ip', '203.0.113.9'], ...lines])
          const expected = isSecure ? secure : plain
          assert.deepEqual(named(told, 'x-forwarded-proto'), [expected], JSON.stringify(lines))
          assert.match(named(told, 'forwarded').join(), new RegExp(`proto=${expected}$`))
        }
        await gateway?.close()
      }
      gateway = undefined
    })

    test('X-Forwarded-Proto is nobody’s word without trustProto, nor of sources that are not listed', async () => {
      for (const belief of [claims(), claims({ trustProto: true, from: others })]) {
        await open({ claims: belief, isSecure: true })
        assert.deepEqual(named(await ask([['x-forwarded-proto', 'http']]), 'x-forwarded-proto'), ['https'])
        await gateway?.close()
      }
      gateway = undefined
    })

    test('behind a CDN that ends TLS, a redirect to https ends where https was asked for', async () => {
      await open({ claims: claims({ trustProto: true }), isSecure: false, redirectToHttps: true })
      const secure = await ask([['x-forwarded-proto', 'https']])
      assert.deepEqual([secure.response.status, ...named(secure, 'x-forwarded-proto')], [200, 'https'])
      assert.equal((await ask([['x-forwarded-proto', 'http']])).response.status, 308)
      assert.equal((await ask()).response.status, 308)
      await gateway?.close()
      await open({ claims: claims({ trustProto: true, from: others }), isSecure: false, redirectToHttps: true })
      assert.equal((await ask([['x-forwarded-proto', 'https']])).response.status, 308)
    })

    test('a site that serves some addresses alone answers all others 403, and serves those', async () => {
      const rules = [
        [new AddressRule({ from: us, of: 'peer' }), 200],
        [new AddressRule({ from: others, of: 'peer' }), 403],
        [new AddressRule({ from: us, of: 'claimed' }), 200],
        [new AddressRule({ from: setOf('203.0.113.0/24'), of: 'peer' }), 403],
        [new AddressRule({ from: setOf('203.0.113.0/24'), of: 'claimed' }), 403],
        [new AddressRule({ from: setOf('203.0.113.0/24'), of: 'client' }), 200],
        [new AddressRule({ from: setOf('203.0.114.0/24'), of: 'client' }), 403],
        [new AddressRule({ from: setOf(), of: 'peer' }), 403],
      ] as const
      for (const [allow, status] of rules) {
        await open({ claims: claims() }, { 'a.example': { allow } })
        const told = await ask([['cf-connecting-ip', '203.0.113.9']])
        assert.deepEqual(
          [told.response.status, told.entry.reason],
          [status, status === 200 ? 'ok' : 'peer_not_allowed'],
        )
        assert.equal(told.entry.claimed, '203.0.113.9')
        assert.equal(told.lines.length > 0, status === 200)
        await gateway?.close()
      }
      gateway = undefined
    })
  })
}

describe('claims that only HTTP/1 can forge', () => {
  test('Connection cannot take the believed header from the endpoint, nor ours', async () => {
    const upstream = await new ReadingUpstream(() => response('ok')).open()
    const sites = { 'a.example': forwardTo(upstream.port) }
    const gateway = await new Gateway({ sites, view: { claims: claims() } }).open()
    const client = await RawClient.connect(gateway.port)
    client.send(
      'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: CF-Connecting-IP, X-Forwarded-For, Forwarded, X-Forwarded-Proto\r\nCF-Connecting-IP: 203.0.113.9\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n',
    )
    await client.receives(/ok$/)
    const head = upstream.requests[0]?.head ?? ''
    assert.match(head, /^CF-Connecting-IP: 203\.0\.113\.9\r$/m)
    assert.match(head, /^x-forwarded-for: 203\.0\.113\.9\r$/m)
    assert.match(head, /^forwarded: for=203/m)
    assert.match(head, /^x-forwarded-proto: https\r$/m)
    assert.equal(head.includes('6.6.6.6'), false)
    client.destroy()
    await gateway.close()
    await upstream.close()
  })

  test('a name with a blank before its colon is no request, and the next connection is served', async () => {
    const upstream = await new ReadingUpstream(() => response('ok')).open()
    const gateway = await new Gateway({
      sites: { 'a.example': forwardTo(upstream.port) },
      view: { claims: claims() },
    }).open()
    for (const name of ['CF-Connecting-IP ', 'CF-Connecting-IP\t', 'X-Forwarded-For ']) {
      const client = await RawClient.connect(gateway.port)
      client.send(`GET / HTTP/1.1\r\nHost: a.example\r\n${name}: 203.0.113.9\r\n\r\n`)
      await client.receives(/^HTTP\/1\.1 400 /)
      client.destroy()
    }
    const client = await RawClient.connect(gateway.port)
    client.send('GET / HTTP/1.1\r\nHost: a.example\r\nCF-Connecting-IP: 203.0.113.9\r\n\r\n')
    await client.receives(/^HTTP\/1\.1 200 /)
    assert.equal(upstream.requests.length, 1)
    client.destroy()
    await gateway.close()
    await upstream.close()
  })
})
