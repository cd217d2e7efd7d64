// What sites want besides their action, over every downstream wire: routes, header policies, pages of their own, bounds of bodies.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { headerPolicy } from '../../src/http/header-policy.js'
import type { VirtualHost } from '../../src/http/routing.js'
import { until, within } from '../support/deadline.js'
import { freePort } from '../support/free-port.js'
import { forwardTo, forwardToAll, Gateway, redirectTo, respondWith } from '../support/gateway.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'
import {
  type ClientWire,
  type Line,
  valuesOf,
  type WireClient,
  type WireRequest,
  type WireResponse,
} from './client-wire.js'
import { http1Wire } from './http1-wire.js'
import { http2Wire } from './http2-wire.js'

const bodyBytesMax = 100

for (const wire of [http1Wire, http2Wire]) describe(`a site over ${wire.name}`, () => contract(wire))

function contract(wire: ClientWire): void {
  let answer: string
  let upstream: ReadingUpstream
  let silent: ScriptedUpstream
  let gateway: Gateway
  let client: WireClient

  beforeEach(async () => {
    answer = response('from upstream')
    upstream = await new ReadingUpstream(() => answer).open()
    silent = await new ScriptedUpstream(() => undefined).open()
  })
  afterEach(async () => {
    client.close()
    await gateway.close()
    await silent.close()
    await upstream.close()
  })

  async function open(policy: Partial<VirtualHost>, action = forwardTo(upstream.port)): Promise<void> {
    const policies = { 'a.example': policy }
    gateway = await new Gateway({ sites: { 'a.example': action }, policies, protocol: wire.name }).open()
    client = wire.connect(gateway.port)
  }

  async function ask(request: Partial<WireRequest>): Promise<WireResponse> {
    const whole = { host: 'a.example', ...request }
    return await within(`an answer to ${JSON.stringify(whole).slice(0, 200)}`, client.request(whole).response)
  }

  function seenHead(): string {
    assert.equal(upstream.requests.length, 1)
    return upstream.requests[0]?.head ?? ''
  }

  describe('with routes', () => {
    async function openRoutes(): Promise<void> {
      const forward = forwardTo(upstream.port)
      await open(
        {
          routes: [
            { path: '/strip', action: { ...forward, strippedBytes: '/strip'.length } },
            { path: '/old', action: { ...redirectTo('/new'), status: 301, replacedBytes: '/old'.length } },
            { path: '/gone', action: { ...redirectTo(''), replacedBytes: '/gone'.length } },
            { path: '/fixed', action: respondWith('fixed') },
          ],
        },
        forward,
      )
    }

    test('each path has the answer of its own route', async () => {
      await openRoutes()
      assert.equal((await ask({ target: '/fixed/x' })).body, 'fixed')
      assert.equal((await ask({ target: '/fixedly' })).body, 'from upstream')
    })

    for (const [target, location] of Object.entries({
      '/old/x?y': '/new/x?y',
      '/old': '/new',
      '/old?y': '/new?y',
      '/gone/x': '/x',
      '/gone': '/',
      '/gone?y': '/?y',
      '/gone//evil.example': '/evil.example',
    })) {
      test(`${target} is sent to ${location}`, async () => {
        await openRoutes()
        const { lines } = await ask({ target })
        assert.deepEqual(valuesOf(lines, 'location'), [location])
      })
    }

    test('a stripped prefix is not seen by the endpoint', async () => {
      await openRoutes()
      await ask({ target: '/strip/a%20b?c' })
      assert.match(seenHead(), /^GET \/a%20b\?c HTTP\/1\.1\r\n/)
      assert.equal(gateway.entries[0]?.target, '/strip/a%20b?c')
    })

    for (const target of ['/strip/../fixed', '/strip/%2e%2e/fixed', '//fixed', '/strip//fixed']) {
      test(`${target} is 400 and reaches nobody`, async () => {
        await openRoutes()
        assert.equal((await ask({ target })).status, 400)
        assert.equal(gateway.entries[0]?.reason, 'ambiguous_path')
        assert.equal(upstream.received, '')
      })
    }
  })

  describe('with header policies', () => {
    const requestHeaders = headerPolicy({
      set: [
        { name: 'X-Env', value: 'prod' },
        { name: 'X-Forwarded-Proto', value: 'wss' },
      ],
      remove: ['X-Debug'],
    })
    const responseHeaders = headerPolicy({
      set: [{ name: 'Strict-Transport-Security', value: 'max-age=1' }],
      remove: ['Server', 'X-Powered-By'],
    })

    test('sets and removes lines of the request, and the Host where it says so', async () => {
      await open({ requestHeaders, upstreamHost: 'internal.example:81' })
      const lines: Line[] = [
        ['x-debug', '1'],
        ['X-ENV', 'test'],
        ['x-kept', '1'],
        ['x-debug', '2'],
      ]
      await ask({ lines })
      const head = seenHead()
      assert.deepEqual(head.match(/^x-(?:env|debug|kept):.*$/gim), ['x-kept: 1', 'x-env: prod'])
      assert.deepEqual(head.match(/^host:.*$/gim), ['host: internal.example:81'])
      assert.deepEqual(head.match(/^x-forwarded-(?:proto|host):.*$/gim), [
        'x-forwarded-host: a.example',
        'x-forwarded-proto: wss',
      ])
    })

    test('passes on the Host of the client where it says nothing', async () => {
      await open({ requestHeaders })
      await ask({})
      assert.deepEqual(seenHead().match(/^host:.*$/gim), ['host: a.example'])
    })

    test('sets and removes lines of every final answer, whoever made it', async () => {
      answer = response('ok', 'Server: old\r\nX-Powered-By: x\r\nstrict-transport-security: max-age=0\r\n')
      await open({ responseHeaders, routes: [{ path: '/fixed', action: respondWith('fixed') }] })
      for (const target of ['/', '/fixed', '/fixed/..']) {
        const { lines } = await ask({ target })
        assert.deepEqual(valuesOf(lines, 'strict-transport-security'), ['max-age=1'])
        assert.deepEqual([...valuesOf(lines, 'server'), ...valuesOf(lines, 'x-powered-by')], [])
      }
    })
  })

  describe('with pages of its own', () => {
    const errorPages = new Map([[502, { contentType: 'text/html', body: Buffer.from('<h1>sorry</h1>') }]])

    test('shows them for failures, with the id of the request', async () => {
      await open({ errorPages }, forwardToAll([await freePort()]))
      const { status, body, lines } = await ask({})
      assert.deepEqual([status, body, valuesOf(lines, 'content-type')], [502, '<h1>sorry</h1>', ['text/html']])
      await until('the line', () => gateway.entries.length === 1)
      assert.deepEqual(valuesOf(lines, 'x-request-id'), [gateway.entries[0]?.requestId])
      const head = await ask({ method: 'HEAD' })
      assert.deepEqual([head.status, head.body, valuesOf(head.lines, 'content-length')], [502, '', ['14']])
    })

    test('shows them for no answer of an endpoint', async () => {
      answer = 'HTTP/1.1 502 Bad\r\ncontent-length: 5\r\n\r\ntheir'
      await open({ errorPages })
      assert.equal((await ask({})).body, 'their')
    })

    test('says when to come back where no endpoint is available', async () => {
      await open({}, forwardToAll([]))
      const { status, lines } = await ask({})
      assert.deepEqual([status, valuesOf(lines, 'retry-after')], [503, ['5']])
    })
  })

  describe('with a bound of bodies', () => {
    const policy = { requestBodyBytesMax: bodyBytesMax }
    const counted = (bytes: number): Partial<WireRequest> => ({
      method: 'POST',
      lines: [['content-length', String(bytes)]],
      body: ['x'.repeat(bytes)],
    })
    const uncounted = (bytes: number): Partial<WireRequest> => ({ method: 'POST', body: ['x'.repeat(bytes)] })

    for (const [kind, request] of Object.entries({ counted, uncounted })) {
      test(`takes a ${kind} body of just as many bytes`, async () => {
        await open(policy)
        assert.equal((await ask(request(bodyBytesMax))).status, 200)
        assert.equal(upstream.requests[0]?.body.length, bodyBytesMax)
      })

      test(`answers a ${kind} body of one byte more with 413, and the endpoint gets nothing whole`, async () => {
        await open(policy)
        assert.equal((await ask(request(bodyBytesMax + 1))).status, 413)
        assert.equal(gateway.entries[0]?.reason, 'body_too_large')
        assert.equal(upstream.requests.length, 0)
        await upstream.isDeserted()
        client.close()
        client = wire.connect(gateway.port)
        assert.equal((await ask({})).body, 'from upstream')
      })
    }

    test('answers 413 while the body is still under way, and the attempt ends', async () => {
      await open(policy, forwardTo(silent.port))
      const pieces = Array.from({ length: 50 }, () => 'x'.repeat(4096))
      assert.equal((await ask({ method: 'POST', body: pieces })).status, 413)
      await silent.isDeserted()
      assert.doesNotMatch(silent.received, /\r\n0\r\n\r\n/)
    })
  })
}
