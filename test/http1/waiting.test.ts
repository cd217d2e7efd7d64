import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setInterval } from 'node:timers/promises'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, type GatewayOptions, respondWith } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'

const shortMs = 200
/** An idle time that a busy machine does not exceed between two bytes, and the pieces of an upload that take longer than it. */
const patientMs = 2_000
const movingPieces = 30
const piece = 'x'.repeat(1024)
const betweenBytesMs = 100
const get = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'
const post = 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100000\r\n\r\n'
/** More than the kernel holds for a connection. */
const hugeBytes = 32 * 1024 * 1024
const large = Buffer.alloc(1024 * 1024, 'x')

describe('waiting is bounded:', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  let client: RawClient

  beforeEach(async () => {
    upstream = await new ScriptedUpstream(() => undefined).open()
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
    await upstream.close()
  })

  async function open(
    timeouts: GatewayOptions['timeouts'],
    upstreamTimeouts: Parameters<typeof forwardTo>[1] = {},
  ): Promise<void> {
    const sites = {
      'a.example': forwardTo(upstream.port, upstreamTimeouts),
      'b.example': respondWith('b'),
      'large.example': respondWith('x'.repeat(50_000)),
      'huge.example': respondWith('x'.repeat(hugeBytes)),
    }
    const limits = { pipelined: 100_000 }
    gateway = await new Gateway({ sites, limits, ...(timeouts === undefined ? {} : { timeouts }) }).open()
    client = await RawClient.connect(gateway.port)
  }

  async function ends(reason: string): Promise<void> {
    await client.ends()
    await until('the connection is gone', () => gateway.connections.size === 0)
    await upstream.isDeserted()
    assert.equal(gateway.entries.at(-1)?.reason, reason)
  }

  for (const bytes of ['', '\r\n', '\r']) {
    test(`a connection with ${JSON.stringify(bytes)} for a request is closed without a word and without a line`, async () => {
      await open({ idleMs: shortMs, headersMs: 50 })
      client.send(bytes)
      await client.ends()
      assert.equal(client.received, '')
      assert.deepEqual(gateway.entries, [])
    })
  }

  for (const bytes of ['G', 'GET / HTTP/1.1\r\nHost: a.example\r\n', '\r\nGET / HTTP/1.1\r\nX']) {
    test(`a head that stops after ${JSON.stringify(bytes)} is answered 408`, async () => {
      await open({ headersMs: shortMs })
      client.send(bytes)
      await client.receives(/^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*request_timeout/)
      await ends('request_timeout')
    })
  }

  test('a head whose bytes keep coming is answered 408 all the same', async () => {
    await open({ headersMs: shortMs })
    client.send('GET / HTTP/1.1\r\nX: ')
    for await (const _ of setInterval(20)) {
      if (client.received !== '') break
      client.send('y')
    }
    await client.receives(/^HTTP\/1\.1 408 /)
    await ends('request_timeout')
  })

  test('an upload that stops is answered 408, and its upstream connection is closed', async () => {
    await open({ bodyIdleMs: shortMs })
    client.send(`${post}hello`)
    await client.receives(/^HTTP\/1\.1 408 [\s\S]*request_timeout/)
    await ends('request_timeout')
    assert.match(upstream.received, /hello$/)
  })

  async function sendSlowly(): Promise<void> {
    client.send(`POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: ${movingPieces * piece.length}\r\n\r\n`)
    let sent = 0
    for await (const _ of setInterval(betweenBytesMs)) {
      client.send(piece)
      if (++sent === movingPieces) break
    }
  }

  test('an upload that moves may take longer than any idle time', async () => {
    await open({}, { bodyIdleMs: patientMs, responseMs: 60_000 })
    await sendSlowly()
    await until('the whole upload', () => upstream.received.endsWith(piece.repeat(movingPieces)))
    upstream.connections[0]?.socket.write(response('whole'))
    await client.receives(/whole$/)
  })

  test('an upload that moves keeps an early answer alive', async () => {
    upstream.script = ({ socket, received }) => {
      if (received.endsWith('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nearly')
      if (received.endsWith(piece.repeat(movingPieces))) socket.write(',late')
    }
    await open({}, { bodyIdleMs: patientMs })
    await sendSlowly()
    await client.receives(/early,late$/)
  })

  test('the rest of a body that nobody wants is waited for no longer than a body', async () => {
    await open({ bodyIdleMs: shortMs })
    client.send('POST / HTTP/1.1\r\nHost: nobody.example\r\nContent-Length: 10\r\n\r\nhello')
    await client.receives(/^HTTP\/1\.1 421 /)
    await client.ends()
  })

  test('an endpoint that does not answer is 504', async () => {
    await open({}, { responseMs: shortMs })
    client.send(get)
    await client.receives(/^HTTP\/1\.1 504 [\s\S]*upstream_timeout/)
    await upstream.isDeserted()
    assert.equal(gateway.entries.at(-1)?.reason, 'upstream_timeout')
  })

  test('an endpoint that says half a head, byte by byte, is 504', async () => {
    await open({}, { responseMs: shortMs })
    client.send(get)
    const { socket } = await upstream.accepts(1)
    socket.write('HTTP/1.1 200 OK\r\nX: ')
    for await (const _ of setInterval(20)) {
      if (client.received !== '') break
      socket.write('y')
    }
    await client.receives(/^HTTP\/1\.1 504 [\s\S]*upstream_timeout/)
  })

  test('an endpoint that stops in the middle of its answer breaks it', async () => {
    upstream.script = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
    await open({}, { bodyIdleMs: shortMs })
    client.send(get)
    await client.receives(/hello$/)
    await ends('upstream_timeout')
  })

  test('an endpoint that does not read the upload is 504', async () => {
    await open({}, { bodyIdleMs: shortMs })
    client.send('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1073741824\r\n\r\n')
    const { socket } = await upstream.accepts(1)
    socket.pause()
    fill(client)
    await client.receives(/^HTTP\/1\.1 504 [\s\S]*upstream_timeout/)
    socket.destroy()
  })

  test('a client that does not read its answer is cut off', async () => {
    upstream.script = ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n')
      const fillMore = () => {
        while (!socket.destroyed && socket.write(large));
      }
      socket.on('drain', fillMore)
      fillMore()
    }
    await open({ bodyIdleMs: shortMs })
    client.send(get)
    await client.receives(/200 OK/)
    client.socket.pause()
    await until('the line', () => gateway.entries.length === 1)
    assert.equal(gateway.entries[0]?.reason, 'client_stalled')
    await upstream.isDeserted()
  })

  test('a client that does not read its answers may not ask for more', async () => {
    await open({ bodyIdleMs: shortMs })
    const many = 'GET / HTTP/1.1\r\nHost: large.example\r\n\r\n'.repeat(8)
    client.socket.pause()
    const { socket } = client
    const ask = () => {
      while (!socket.destroyed && socket.write(many));
    }
    socket.on('drain', ask)
    ask()
    await until('the connection is closed', () => gateway.connections.size === 0)
  })

  test('a slow reader gets the whole of the last answer of its connection', async () => {
    await open({})
    client.send('GET / HTTP/1.1\r\nHost: huge.example\r\nConnection: close\r\n\r\n')
    await client.receives(/200 OK/)
    client.socket.pause()
    // Longer than the server lingers for a client that closes late.
    const endMs = performance.now() + 2_300
    await until('the client reads on', () => performance.now() > endMs)
    client.socket.resume()
    await client.ends()
    assert.equal(client.received.length - client.received.indexOf('\r\n\r\n') - 4, hugeBytes)
  })
})

/** Writes until the connection ends. */
function fill({ socket }: RawClient): void {
  const fillMore = () => {
    while (!socket.destroyed && socket.write(large));
  }
  socket.on('drain', fillMore)
  fillMore()
}
