// The same cases over every downstream wire: what a client sees, what an endpoint sees, what the log says.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { forwardTo, Gateway, redirectTo, respondWith } from '../support/gateway.js'
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

for (const wire of [http1Wire, http2Wire]) describe(`over ${wire.name}`, () => contract(wire))

function contract(wire: ClientWire): void {
  let answer: string
  let upstream: ReadingUpstream
  let scripted: ScriptedUpstream
  let gateway: Gateway
  let client: WireClient

  beforeEach(async () => {
    answer = response('from a')
    upstream = await new ReadingUpstream(() => answer).open()
    scripted = await new ScriptedUpstream(() => undefined).open()
    const forward = (port: number) => forwardTo(port, { responseMs: 300 })
    const sites = {
      'a.example': forward(upstream.port),
      'scripted.example': forward(scripted.port),
      'b.example': respondWith('from b'),
      'old.example': redirectTo('https://a.example'),
    }
    gateway = await new Gateway({ sites, protocol: wire.name }).open()
    client = wire.connect(gateway.port)
  })
  afterEach(async () => {
    client.close()
    await gateway.close()
    await scripted.close()
    await upstream.close()
  })

  async function ask(request: WireRequest): Promise<WireResponse> {
    return await within(`an answer to ${JSON.stringify(request)}`, client.request(request).response)
  }

  /** What the endpoint saw of the only request. */
  function seen(): { head: string; body: string; trailers: string } {
    assert.equal(upstream.requests.length, 1)
    return upstream.requests[0] as { head: string; body: string; trailers: string }
  }

  test('each request is answered by the site of its own host, in any order, and an unknown host is 421', async () => {
    const bodies: Readonly<Record<string, string>> = { 'a.example': 'from a', 'B.Example.:443': 'from b' }
    const hosts = ['a.example', 'nobody.example', 'B.Example.:443', 'a.example', 'nobody.example', 'B.Example.:443']
    const answers = await Promise.all(hosts.map((host) => ask({ host })))
    for (const [index, host] of hosts.entries()) {
      assert.equal(answers[index]?.status, host in bodies ? 200 : 421)
      if (host in bodies) assert.equal(answers[index]?.body, bodies[host])
    }
    assert.equal((await ask({ host: 'a.example' })).body, 'from a')
    assert.equal(upstream.requests.length, 3)
  })

  for (const host of ['u@a.example', 'a.example,b.example', 'a.example:x', 'a..example']) {
    test(`the host ${host} is 400`, async () => {
      assert.equal((await ask({ host })).status, 400)
      assert.equal(gateway.entries[0]?.reason, 'bad_authority')
    })
  }

  test('a redirect keeps path and query', async () => {
    const { status, lines } = await ask({ host: 'old.example', target: '/x?y=%20' })
    assert.equal(status, 308)
    assert.deepEqual(valuesOf(lines, 'location'), ['https://a.example/x?y=%20'])
  })

  test('method and target reach the endpoint byte for byte', async () => {
    await ask({ host: 'a.example', method: 'PROPFIND', target: '//a/../%2e%00?x=|y' })
    assert.match(seen().head, /^PROPFIND \/\/a\/\.\.\/%2e%00\?x=\|y HTTP\/1\.1\r\n/)
  })

  test('lines reach the endpoint apart and in order, claims do not', async () => {
    const lines: Line[] = [
      ['x-a', '1'],
      ['x-a', '2'],
      ['accept', '*/*'],
      ['x-forwarded-for', '1.2.3.4'],
      ['x_forwarded_for', '1.2.3.4'],
      ['forwarded', 'for=1.2.3.4'],
      ['x-request-id', 'mine'],
      ['proxy', 'http://evil.example'],
    ]
    await ask({ host: 'a.example', lines })
    const { head } = seen()
    assert.match(head, /x-a: 1\r\nx-a: 2\r\naccept: \*\/\*\r\n/i)
    assert.deepEqual(head.match(/^.*forwarded.for.*$/gim), ['x-forwarded-for: 127.0.0.1'])
    assert.deepEqual(head.match(/^forwarded:.*$/gim), ['forwarded: for=127.0.0.1;host=a.example;proto=https'])
    assert.match(head, /^host: a\.example\r$/im)
    assert.match(head, new RegExp(`^via: ${wire.name === 'h2' ? '2' : '1.1'} hostward\r$`, 'im'))
    assert.doesNotMatch(head, /mine|evil|1\.2\.3\.4/)
  })

  test('lines reach the client apart and in order, those of the connection do not', async () => {
    answer = response(
      'ok',
      'Set-Cookie: a=1\r\nX: y\r\nSet-Cookie: b=2\r\nConnection: X-Gone\r\nX-Gone: 1\r\nKeep-Alive: timeout=9\r\nProxy-Connection: x\r\nUpgrade: h2c\r\n',
    )
    const { lines } = await ask({ host: 'a.example' })
    assert.deepEqual(valuesOf(lines, 'set-cookie'), ['a=1', 'b=2'])
    assert.deepEqual(valuesOf(lines, 'content-length'), ['2'])
    for (const name of ['x-gone', 'proxy-connection', 'upgrade']) assert.deepEqual(valuesOf(lines, name), [])
  })

  test('a body without a length reaches the endpoint in chunks, with its trailers', async () => {
    await ask({ host: 'a.example', method: 'DELETE', body: ['hel', 'lo'], trailers: [['x-sum', '5']] })
    const { head, body, trailers } = seen()
    assert.match(head, /^transfer-encoding: chunked\r$/im)
    assert.deepEqual([body, trailers.toLowerCase()], ['hello', 'x-sum: 5\r\n'])
  })

  // No rule for heads looks behind a body: some frameworks merge what stands there into the headers.
  test('what tells of the client, routes or authenticates does not pass behind a body', async () => {
    const names = ['x-forwarded-for', 'client-cert', 'x_forwarded_for', 'cf-connecting-ip', 'authorization', 'cookie']
    const trailers = [...names.map((name): Line => [name, 'evil']), ['x-sum', '5']] satisfies Line[]
    await ask({ host: 'a.example', method: 'POST', body: ['hello'], trailers })
    assert.equal(seen().trailers.toLowerCase(), 'x-sum: 5\r\n')
    assert.doesNotMatch(seen().head, /evil/)
  })

  test('a body with a length keeps it', async () => {
    const lines: Line[] = [['content-length', '5']]
    await ask({ host: 'a.example', method: 'POST', lines, body: ['hello'] })
    assert.match(seen().head, /^content-length: 5\r$/im)
    assert.equal(seen().body, 'hello')
  })

  test('a body that looks like a request is a body', async () => {
    await ask({ host: 'a.example', method: 'OPTIONS', body: ['GET /second HTTP/1.1\r\nHost: a.example\r\n\r\n'] })
    assert.match(seen().body, /^GET \/second/)
  })

  test('trailers of the endpoint reach the client', async () => {
    answer =
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n'
    const { body, trailers, isWhole } = await ask({ host: 'a.example' })
    assert.deepEqual([body, trailers, isWhole], ['hello', [['x-sum', '5']], true])
  })

  test('103 reaches the client before the answer', async () => {
    answer = `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${response('ok')}`
    const { informational, status } = await ask({ host: 'a.example' })
    assert.equal(status, 200)
    assert.deepEqual(
      informational.map((head) => [head.status, valuesOf(head.lines, 'link')]),
      [[103, ['</a>']]],
    )
  })

  test('HEAD, 204 and 304 have no body', async () => {
    answer = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n'
    const head = await ask({ host: 'a.example', method: 'HEAD' })
    assert.deepEqual([head.status, head.body, valuesOf(head.lines, 'content-length')], [200, '', ['5']])
    for (const status of ['204 No Content', '304 Not Modified']) {
      answer = `HTTP/1.1 ${status}\r\n\r\n`
      const { body, isWhole } = await ask({ host: 'a.example' })
      assert.deepEqual([body, isWhole], ['', true])
    }
  })

  test('a body that ends with the connection of the endpoint is whole', async () => {
    scripted.script = ({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello')
    const { body, isWhole } = await ask({ host: 'scripted.example' })
    assert.deepEqual([body, isWhole], ['hello', true])
  })

  const failures: Readonly<Record<string, [script: (socket: ScriptedSocket) => unknown, status: number]>> = {
    upstream_reset: [(socket) => socket.end(), 502],
    upstream_protocol: [(socket) => socket.write('HTTP/1.1 099 X\r\n\r\n'), 502],
    upstream_timeout: [() => undefined, 504],
  }
  for (const [reason, [script, status]] of Object.entries(failures)) {
    test(`an endpoint without an answer is ${status} ${reason}, and the connection goes on`, async () => {
      scripted.script = ({ socket }) => script(socket)
      assert.equal((await ask({ host: 'scripted.example' })).status, status)
      assert.equal(gateway.entries[0]?.reason, reason)
      assert.equal((await ask({ host: 'b.example' })).body, 'from b')
    })
  }

  for (const [framing, head] of Object.entries({
    counted: 'Content-Length: 10\r\n\r\n',
    chunked: 'Transfer-Encoding: chunked\r\n\r\n5\r\n',
  })) {
    test(`an endpoint that dies in a ${framing} body leaves a broken one, never a whole one`, async () => {
      scripted.script = ({ socket }) => socket.write(`HTTP/1.1 200 OK\r\n${head}hello`)
      const { response: pending, bodyBegun } = client.request({ host: 'scripted.example' })
      await within('the first byte', bodyBegun)
      scripted.connections[0]?.socket.resetAndDestroy()
      const { status, isWhole } = await within('the end', pending)
      assert.deepEqual([status, isWhole], [200, false])
      await until('the line', () => gateway.entries.length === 1)
      assert.equal(gateway.entries[0]?.reason, 'upstream_reset')
    })
  }

  test('a client that leaves before the answer ends the request at the endpoint', async () => {
    const { response: pending, bodyBegun, abandon } = client.request({ host: 'scripted.example' })
    for (const promise of [pending, bodyBegun]) promise.catch(() => undefined)
    await scripted.receives(/\r\n\r\n$/)
    abandon()
    await scripted.isDeserted()
    const [{ status, reason } = { status: 0, reason: '' }] = gateway.entries
    assert.deepEqual([status, reason], [null, 'client_gone'])
  })

  test('a client that leaves in the middle of the answer ends it at the endpoint', async () => {
    scripted.script = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
    const { response: pending, bodyBegun, abandon } = client.request({ host: 'scripted.example' })
    pending.catch(() => undefined)
    await within('the first byte', bodyBegun)
    abandon()
    await scripted.isDeserted()
    const [{ status, reason } = { status: 0, reason: '' }] = gateway.entries
    assert.deepEqual([status, reason], [200, 'client_gone'])
  })

  test('a GET that meets a just-closed connection is sent again, a POST is not', async () => {
    let isStale = false
    scripted.script = (connection) => {
      if (isStale && connection === scripted.connections[0]) connection.socket.resetAndDestroy()
      else if (connection.received.endsWith('\r\n\r\n')) connection.socket.write(response('ok'))
    }
    await ask({ host: 'scripted.example' })
    isStale = true
    assert.equal((await ask({ host: 'scripted.example' })).status, 200)
    scripted.connections.shift()
    assert.equal(
      (await ask({ host: 'scripted.example', method: 'POST', lines: [['content-length', '0']], body: [] })).status,
      502,
    )
    assert.equal(scripted.connections.length, 1)
  })

  test('the log names the wire and counts the bytes of both bodies', async () => {
    await ask({ host: 'a.example', method: 'POST', target: '/?x', body: ['hello'] })
    const [entry] = gateway.entries
    const { protocol, method, target, status, bytesReceived, bytesSent } = entry as NonNullable<typeof entry>
    assert.deepEqual([protocol, method, target, status], [wire.name, 'POST', '/?x', 200])
    assert.deepEqual([bytesReceived, bytesSent], [5, 6])
  })
}

type ScriptedSocket = ScriptedUpstream['connections'][number]['socket']
