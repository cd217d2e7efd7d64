// Slow read and slow POST over HTTP/1: a byte now and then keeps nobody waiting for ever, and slow is not yet hostile.
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { setInterval } from 'node:timers/promises'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, type GatewayOptions } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'

const betweenBytesMs = 50
const uploadBytes = 60
/** More than the kernel holds for a connection. */
const largeBytes = 16 * 1024 * 1024

describe('the least pace of a body:', () => {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  let client: RawClient

  afterEach(async () => {
    client.destroy()
    await gateway.close()
    await upstream.close()
  })

  async function open(least: number, bodyIdleMs: number): Promise<void> {
    upstream = await new ScriptedUpstream(({ socket, received }) => {
      if (received.endsWith('x'.repeat(uploadBytes))) socket.write(response('whole'))
      if (received.startsWith('GET ')) socket.write(response('x'.repeat(largeBytes)))
    }).open()
    const options: GatewayOptions = {
      sites: { 'a.example': forwardTo(upstream.port) },
      limits: { bodyBytesPerSecondMin: least },
      timeouts: { bodyIdleMs },
    }
    gateway = await new Gateway(options).open()
    client = await RawClient.connect(gateway.port)
  }

  async function servesOthers(): Promise<void> {
    const other = await RawClient.connect(gateway.port)
    other.send('GET / HTTP/1.1\r\nHost: nobody.example\r\n\r\n')
    await other.receives(/^HTTP\/1\.1 421 /)
    other.destroy()
  }

  async function upload(): Promise<void> {
    client.send(`POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: ${uploadBytes}\r\n\r\n`)
    let sent = 0
    for await (const _ of setInterval(betweenBytesMs)) {
      if (client.received !== '' || sent++ === uploadBytes) return
      client.send('x')
    }
  }

  test('an upload that comes byte by byte is answered 408', async () => {
    await open(100_000, 300)
    await upload()
    await client.receives(/^HTTP\/1\.1 408 [\s\S]*request_timeout/)
    await client.ends()
    assert.equal(gateway.entries[0]?.reason, 'request_timeout')
    await upstream.isDeserted()
    await servesOthers()
  })

  test('an upload just above it is forwarded', async () => {
    await open(1, 2_000)
    await upload()
    await client.receives(/^HTTP\/1\.1 200 [\s\S]*whole$/)
  })

  /** Reads a little of a large answer now and then, until it is whole or over. */
  async function readSlowly(): Promise<void> {
    client.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
    client.socket.pause()
    for await (const _ of setInterval(10)) {
      if (client.isEnded || client.isClosed || client.received.length > largeBytes) return
      client.socket.resume()
      client.socket.once('data', () => client.socket.pause())
    }
  }

  test('a reader below it is cut, though it reads', async () => {
    await open(1_000_000_000, 500)
    await readSlowly()
    await until('the line', () => gateway.entries.length === 1)
    assert.equal(gateway.entries[0]?.reason, 'client_stalled')
    await servesOthers()
  })

  test('a reader above it gets the whole answer', async () => {
    await open(1, 10_000)
    await readSlowly()
    await until('the line', () => gateway.entries.length === 1)
    assert.equal(gateway.entries[0]?.reason, 'ok')
  })
})
