import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { portOf } from '../support/port.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { readRequest } from '../support/request-reader.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'

const get = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'

describe('the connections to an endpoint', () => {
  let upstream: ReadingUpstream
  let gateway: Gateway
  let client: RawClient
  let answer: string

  beforeEach(async () => {
    answer = response('ok')
    upstream = await new ReadingUpstream(() => answer).open()
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
    await upstream.close()
  })

  async function open(timeouts: Parameters<typeof forwardTo>[1] = {}): Promise<void> {
    gateway = await new Gateway({ sites: { 'a.example': forwardTo(upstream.port, timeouts) } }).open()
    client = await RawClient.connect(gateway.port)
  }

  async function ask(bytes = get): Promise<void> {
    const count = client.answers.length + 1
    client.send(bytes)
    await until('an answer', () => client.answers.length === count)
  }

  test('are kept and used again, for any client', async () => {
    await open()
    await ask()
    await ask('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\nhi')
    client.destroy()
    client = await RawClient.connect(gateway.port)
    await ask()
    assert.equal(upstream.connections.length, 1)
    assert.equal(upstream.requests.length, 3)
  })

  for (const [name, head] of Object.entries({
    'Connection: close': 'connection: close\r\n',
    'close among other options': 'connection: x, Close\r\n',
    'a hint that is over by now': 'keep-alive: timeout=1\r\n',
  })) {
    test(`are not kept after ${name}, and the client's stays open`, async () => {
      answer = response('ok', head)
      await open()
      await ask()
      await ask()
      assert.equal(upstream.connections.length, 2)
      assert.doesNotMatch(client.received, /connection|keep-alive/i)
    })
  }

  test('close when they were idle for upstreamIdleMs', async () => {
    await open({ idleMs: 200 })
    await ask()
    await upstream.isDeserted()
    await ask()
    assert.equal(upstream.connections.length, 2)
  })

  test('close a second before the endpoint says that it would', async () => {
    answer = response('ok', 'keep-alive: timeout=2, max=100\r\n')
    await open({ idleMs: 60_000 })
    await ask()
    await upstream.isDeserted()
    assert.equal(upstream.requests.length, 1)
  })

  test('are dropped when the endpoint says something unasked: the next request never gets it for an answer', async () => {
    await open()
    await ask()
    upstream.connections[0]?.socket.write(response('poison'))
    await upstream.isDeserted()
    await ask()
    assert.equal(upstream.connections.length, 2)
    assert.doesNotMatch(client.received, /poison/)
  })

  for (const [name, poisoned] of Object.entries({
    'a second answer': response('ok') + response('poison'),
    'one byte': `${response('ok')}p`,
    'an empty line': `${response('ok')}\r\n`,
    'a body behind a 204': `HTTP/1.1 204 No Content\r\n\r\n${response('poison')}`,
    'a body behind a 304': `HTTP/1.1 304 Not Modified\r\ncontent-length: 6\r\n\r\npoison`,
    'bytes behind the last chunk': `HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  })) {
    test(`are dropped when ${name} follows an answer`, async () => {
      answer = poisoned
      await open()
      await ask()
      await ask()
      assert.equal(upstream.connections.length, 2)
      assert.doesNotMatch(client.received, /poison/)
    })
  }

  test('are not kept after an answer to HEAD that has a body', async () => {
    await open()
    client.send('HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await client.receives(/content-length: 2\r\n[\s\S]*\r\n\r\n$/)
    await upstream.isDeserted()
    assert.doesNotMatch(client.received, /ok/)
    assert.deepEqual(client.statuses, [200])
  })

  test('are not kept when the endpoint answered before the upload was whole', async () => {
    const early = await new ScriptedUpstream(({ socket }) => socket.write(response('early'))).open()
    gateway = await new Gateway({ sites: { 'a.example': forwardTo(early.port) } }).open()
    client = await RawClient.connect(gateway.port)
    client.send('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 20000\r\n\r\nhello')
    await client.receives(/early$/)
    await early.isDeserted()
    client.send('x'.repeat(19_995))
    await ask()
    assert.equal(early.connections.length, 2)
    assert.deepEqual(client.statuses, [200, 200])
    await early.close()
  })
})

/** How an endpoint closes an idle connection just as the next request is sent on it. */
const closes: Readonly<Record<string, (socket: Socket) => void>> = {
  'its end': (socket) => socket.end(),
  'a reset': (socket) => socket.resetAndDestroy(),
}

describe('a request that meets a connection which the endpoint has just closed', () => {
  let server: Server
  let gateway: Gateway
  let client: RawClient
  let requests: string[]
  let sockets: Socket[]
  /** What the endpoint does with the second request of its first connection. */
  let onStale: (socket: Socket) => void

  beforeEach(async () => {
    requests = []
    sockets = []
    server = createServer((socket) => serve(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    gateway = await new Gateway({ sites: { 'a.example': forwardTo(portOf(server)) } }).open()
    client = await RawClient.connect(gateway.port)
    client.send(get)
    await until('the first answer', () => client.answers.length === 1)
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  function serve(socket: Socket): void {
    const isStale = sockets.push(socket) === 1
    let received = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const read = readRequest(received, 0)
      if (read === undefined) return
      received = received.slice(read.end)
      requests.push(read.request.head.slice(0, read.request.head.indexOf(' ')))
      if (isStale && requests.length > 1) return onStale(socket)
      socket.write(response('ok'))
    })
  }

  for (const [how, close] of Object.entries(closes)) {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      test(`by ${how} is sent again: ${method}`, async () => {
        onStale = close
        client.send(`${method} / HTTP/1.1\r\nHost: a.example\r\n\r\n`)
        await client.receives(/200 OK[\s\S]*200 OK[\s\S]*\r\n\r\n/)
        assert.deepEqual(requests, ['GET', method, method])
        assert.equal(gateway.entries.at(-1)?.reason, 'ok')
      })
    }

    test(`by ${how} is sent again, body and all: a small PUT`, async () => {
      onStale = close
      client.send('PUT / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\nhi')
      await until('the second answer', () => client.answers.length === 2)
      assert.deepEqual(client.statuses, [200, 200])
      assert.deepEqual(requests, ['GET', 'PUT', 'PUT'])
    })

    for (const [name, bytes] of Object.entries({
      'a POST': 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\nhi',
      'a POST without a body': 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n',
      'a PATCH': 'PATCH / HTTP/1.1\r\nHost: a.example\r\n\r\n',
      'a PUT whose body is gone': `PUT / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 20000\r\n\r\n${'x'.repeat(20_000)}`,
    })) {
      test(`by ${how} is never sent twice: ${name}`, async () => {
        onStale = close
        client.send(bytes)
        await client.receives(/ 502 [\s\S]*upstream_reset/)
        assert.equal(requests.length, 2)
        client.send(get)
        await until('the third answer', () => client.answers.length === 3)
        assert.deepEqual(client.statuses, [200, 502, 200])
      })
    }

    test(`by ${how} before a byte of it was written goes to a fresh one: a POST is executed once`, async () => {
      onStale = () => undefined
      close(sockets[0] as Socket)
      await until(
        'the endpoint has closed',
        () => (sockets[0] as Socket).destroyed || (sockets[0] as Socket).readableEnded,
      )
      client.send('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\nhi')
      await client.receives(/ (?:200|502) [\s\S]* (?:200|502) [\s\S]*\r\n\r\n/)
      assert.ok(requests.filter((method) => method === 'POST').length <= 1)
    })
  }

  test('is sent again only once: an endpoint that always closes is 502', async () => {
    onStale = (socket) => {
      server.removeAllListeners('connection')
      server.on('connection', (fresh) => {
        sockets.push(fresh)
        fresh.once('data', () => fresh.end())
      })
      socket.end()
    }
    client.send(get)
    await client.receives(/ 502 [\s\S]*upstream_reset/)
    assert.equal(sockets.length, 2)
  })

  test('and had an answer begun is not sent again', async () => {
    onStale = (socket) => socket.end('HTTP/1.1 2')
    client.send(get)
    await client.receives(/ 502 [\s\S]*upstream_reset/)
    assert.deepEqual(requests, ['GET', 'GET'])
  })
})
