import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, type GatewayOptions } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response } from '../support/scripted-upstream.js'

describe('the lines that an endpoint gets', () => {
  let upstream: ReadingUpstream
  let gateway: Gateway
  let client: RawClient

  beforeEach(async () => {
    upstream = await new ReadingUpstream(() => response('ok')).open()
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
    await upstream.close()
  })

  async function open(options: { via?: boolean; view?: GatewayOptions['view'] } = {}): Promise<void> {
    const action = { ...forwardTo(upstream.port), via: options.via ?? true }
    gateway = await new Gateway({ sites: { 'a.example': action, '::1': action }, view: options.view ?? {} }).open()
    client = await RawClient.connect(gateway.port)
  }

  /** The field lines that the endpoint gets for a request with these. */
  async function linesFor(fields: string): Promise<string[]> {
    const count = upstream.requests.length + 1
    client.send(`GET / HTTP/1.1\r\n${fields}\r\n`)
    await until('a request', () => upstream.requests.length === count)
    return upstream.requests[count - 1]?.head.split('\r\n').slice(1, -2) ?? []
  }

  function named(lines: readonly string[], name: string): string[] {
    return lines.filter((line) => line.toLowerCase().startsWith(`${name}:`))
  }

  test('say who asked, for what and how, each once, in our words alone', async () => {
    await open()
    const lines = await linesFor(
      'X-Forwarded-For: 1.2.3.4\r\nHost: A.Example.:8443\r\nX-Forwarded-For: 5.6.7.8\r\nForwarded: for=1.2.3.4\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: b.example\r\n',
    )
    assert.deepEqual(named(lines, 'host'), ['Host: A.Example.:8443'])
    assert.deepEqual(named(lines, 'x-forwarded-for'), ['x-forwarded-for: 127.0.0.1'])
    assert.deepEqual(named(lines, 'x-forwarded-proto'), ['x-forwarded-proto: https'])
    assert.deepEqual(named(lines, 'x-forwarded-host'), ['x-forwarded-host: A.Example.:8443'])
    assert.deepEqual(named(lines, 'forwarded'), ['forwarded: for=127.0.0.1;host="A.Example.:8443";proto=https'])
  })

  test('lose what some framework takes for the word of a proxy, and every look-alike', async () => {
    await open()
    const names = ['X-Real-IP', 'True-Client-IP', 'X-Original-Forwarded-For', 'X-Forwarded-Ssl', 'CF-Visitor']
    const others = [
      'X-Rewrite-URL',
      'Client-IP',
      'X_Real_IP',
      'X.Forwarded.For',
      'x~forwarded-proto',
      'X-Forwarded_Host',
    ]
    const claims = [...names, ...others].map((name) => `${name}: forged\r\n`)
    const lines = await linesFor(`Host: a.example\r\n${claims.join('')}X-Real: kept\r\nX.Y: kept\r\n`)
    assert.deepEqual(lines.slice(0, 3), ['Host: a.example', 'X-Real: kept', 'X.Y: kept'])
    assert.equal(lines.join().includes('forged'), false)
  })

  test('quote what RFC 7239 wants quoted', async () => {
    await open()
    const lines = await linesFor('Host: [::1]\r\n')
    assert.deepEqual(named(lines, 'forwarded'), ['forwarded: for=127.0.0.1;host="[::1]";proto=https'])
  })

  test('say http on a plain listener', async () => {
    await open({ view: { isSecure: false } })
    const lines = await linesFor('Host: a.example\r\n')
    assert.deepEqual(named(lines, 'x-forwarded-proto'), ['x-forwarded-proto: http'])
    assert.deepEqual(named(lines, 'forwarded'), ['forwarded: for=127.0.0.1;host=a.example;proto=http'])
  })

  test('carry the request id of the log, another for each request', async () => {
    await open()
    const ids = [
      ...(await linesFor('Host: a.example\r\nX-Request-Id: mine\r\n')),
      ...(await linesFor('Host: a.example\r\n')),
    ]
      .filter((line) => line.startsWith('x-request-id: '))
      .map((line) => line.slice('x-request-id: '.length))
    await until('both lines of the log', () => gateway.entries.length === 2)
    assert.deepEqual(
      ids,
      gateway.entries.map((entry) => entry.requestId),
    )
    assert.notEqual(ids[0], ids[1])
  })

  test('have Via appended to that of others', async () => {
    await open()
    const lines = await linesFor('Via: 1.1 cdn\r\nHost: a.example\r\n')
    assert.deepEqual(named(lines, 'via'), ['Via: 1.1 cdn', 'via: 1.1 hostward'])
  })

  test('have no Via of ours where it is switched off', async () => {
    await open({ via: false })
    assert.deepEqual(named(await linesFor('Host: a.example\r\n'), 'via'), [])
  })

  test('lose what Connection names, but not what frames, routes or authenticates', async () => {
    await open()
    const kept = ['Host: a.example', 'Authorization: Basic eDp5', 'Cookie: a=b', 'Content-Length: 0']
    const lines = await linesFor(
      `Connection: host, authorization, cookie, content-length, x-forwarded-for, x-a\r\nX-A: 1\r\n${kept.join('\r\n')}\r\nConnection: X-B\r\nX-B: 2\r\nX-C: 3\r\n`,
    )
    assert.deepEqual(lines.slice(0, 5), [...kept, 'X-C: 3'])
    assert.deepEqual(named(lines, 'x-forwarded-for'), ['x-forwarded-for: 127.0.0.1'])
  })

  test('are dropped in no time, however many names Connection has', async () => {
    await open()
    const names = Array.from({ length: 8_000 }, (_, index) => `x-${index}`).join(',')
    const others = Array.from({ length: 200 }, (_, index) => `Y-${index}: z\r\n`).join('')
    const lines = await linesFor(`Host: a.example\r\nX-7999: 1\r\nConnection: ${names}\r\n${others}`)
    assert.deepEqual(named(lines, 'x-7999'), [])
    assert.equal(lines.filter((line) => line.startsWith('Y-')).length, 200)
  })
})
