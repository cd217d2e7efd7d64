// Endpoints as they are, over every downstream wire: each row is something that real ones do, what a client gets of it, and
// whether the connection to the endpoint may be used again. After each a good request is answered.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'
import { type ClientWire, valuesOf, type WireClient, type WireRequest, type WireResponse } from './client-wire.js'
import { http1Wire } from './http1-wire.js'
import { http2Wire } from './http2-wire.js'

interface Row {
  /** What the endpoint says, one character a byte. */
  readonly says: string
  readonly method?: string
  readonly gets: { readonly status: number; readonly body: string; readonly lines?: Readonly<Record<string, string>> }
  readonly isReusable: boolean
}

const informational = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
const badGateway = { status: 502, body: 'upstream_protocol' }

const rows: Readonly<Record<string, Row>> = {
  'status 999': {
    says: 'HTTP/1.1 999 Request denied\r\nContent-Length: 2\r\n\r\nno',
    gets: { status: 999, body: 'no' },
    isReusable: true,
  },
  'a 304 with the length of what it stands for': {
    says: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: "a"\r\n\r\n',
    gets: { status: 304, body: '', lines: { etag: '"a"' } },
    isReusable: true,
  },
  'a HEAD with a length that is not true': {
    says: 'HTTP/1.1 200 OK\r\nContent-Length: 123456789012\r\n\r\n',
    method: 'HEAD',
    gets: { status: 200, body: '', lines: { 'content-length': '123456789012' } },
    isReusable: true,
  },
  'a HEAD in chunks': {
    says: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    method: 'HEAD',
    gets: { status: 200, body: '' },
    isReusable: true,
  },
  'a HEAD with a body': {
    says: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    method: 'HEAD',
    gets: { status: 200, body: '', lines: { 'content-length': '5' } },
    isReusable: false,
  },
  'a body after 204': {
    says: 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello',
    gets: { status: 204, body: '' },
    isReusable: false,
  },
  'a 205 with a body': {
    says: 'HTTP/1.1 205 Reset Content\r\nContent-Length: 2\r\n\r\nok',
    gets: { status: 205, body: 'ok' },
    isReusable: true,
  },
  'UTF-8 in a Content-Disposition': {
    says: 'HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename="\xe2\x98\x83.txt"\r\nContent-Length: 0\r\n\r\n',
    gets: { status: 200, body: '', lines: { 'content-disposition': 'attachment; filename="\xe2\x98\x83.txt"' } },
    isReusable: true,
  },
  'as many informational heads as are taken': {
    says: informational.repeat(32) + response('ok'),
    gets: { status: 200, body: 'ok' },
    isReusable: true,
  },
  'a flood of informational heads': {
    says: informational.repeat(33) + response('ok'),
    gets: badGateway,
    isReusable: false,
  },
  'a head without an end': {
    says: `HTTP/1.1 200 OK\r\n${'X-Line: 0123456789\r\n'.repeat(5000)}`,
    gets: badGateway,
    isReusable: false,
  },
  'Connection: close': {
    says: 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
    gets: { status: 200, body: 'ok' },
    isReusable: false,
  },
  'the habits of HTTP/1.0': {
    says: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    gets: { status: 200, body: 'ok' },
    isReusable: false,
  },
  'no reason': {
    says: 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok',
    gets: { status: 200, body: 'ok' },
    isReusable: true,
  },
  'an error page of its own with 503': {
    says: 'HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy',
    gets: { status: 503, body: 'busy', lines: { 'retry-after': '7' } },
    isReusable: true,
  },
  'a switch that nobody asked for': {
    says: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    gets: badGateway,
    isReusable: false,
  },
  'two lengths': {
    says: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!',
    gets: badGateway,
    isReusable: false,
  },
}

for (const wire of [http1Wire, http2Wire]) describe(`an endpoint behind ${wire.name} that says`, () => contract(wire))

function contract(wire: ClientWire): void {
  let says: string
  let upstream: ScriptedUpstream
  let gateway: Gateway
  let client: WireClient

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(({ socket }) => socket.write(says, 'latin1')).open()
    gateway = await new Gateway({ sites: { 'a.example': forwardTo(upstream.port) }, protocol: wire.name }).open()
    client = wire.connect(gateway.port)
  })
  afterEach(async () => {
    client.close()
    await gateway.close()
    await upstream.close()
  })

  async function ask(request: Partial<WireRequest> = {}): Promise<WireResponse> {
    return await within('an answer', client.request({ host: 'a.example', ...request }).response)
  }

  /** The next request is answered, on the same connection of the client. */
  async function goesOn(): Promise<void> {
    says = response('next')
    assert.equal((await ask()).body, 'next')
    assert.equal(gateway.connections.size, 1)
  }

  for (const [name, row] of Object.entries(rows)) {
    test(name, async () => {
      says = row.says
      const { status, body, lines, isWhole } = await ask(row.method === undefined ? {} : { method: row.method })
      assert.deepEqual([status, isWhole], [row.gets.status, true])
      assert.ok(row.gets.status === 502 ? body.includes(row.gets.body) : body === row.gets.body, body)
      for (const [line, value] of Object.entries(row.gets.lines ?? {})) assert.deepEqual(valuesOf(lines, line), [value])
      assert.deepEqual(valuesOf(lines, 'connection'), [])
      if (!row.isReusable) await upstream.isDeserted()
      await goesOn()
      assert.equal(upstream.connections.length, row.isReusable ? 1 : 2)
    })
  }

  test('something on an idle connection loses it, and the next request gets its own answer', async () => {
    says = response('first')
    await ask()
    upstream.connections[0]?.socket.write('HTTP/1.1 408 Timeout\r\nContent-Length: 6\r\n\r\npoison')
    await upstream.isDeserted()
    await goesOn()
  })

  test('its answer while the upload still runs has said all: the upload stops, and the connection is not used again', async () => {
    says = 'HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge'
    upstream.script = (connection) => {
      if (connection === upstream.connections[0] && connection.received.length < 100_000) return
      connection.socket.write(says)
    }
    const pieces = Array.from({ length: 64 }, () => 'x'.repeat(16_384))
    const { status, body } = await ask({ method: 'POST', body: pieces })
    assert.deepEqual([status, body], [413, 'large'])
    await upstream.isDeserted()
    assert.doesNotMatch(upstream.received, /\r\n0\r\n\r\n/)
    await until('the line', () => gateway.entries.length === 1)
    assert.equal(gateway.entries[0]?.reason, 'ok')
    client.close()
    client = wire.connect(gateway.port)
    says = response('next')
    assert.equal((await ask()).body, 'next')
  })
}
