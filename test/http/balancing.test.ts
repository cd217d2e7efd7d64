// What a balancing policy gets to know of a request: equal parts lead to the same endpoint.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { Endpoint } from '../../src/upstream/endpoint.js'
import { Upstream, type UpstreamOptions } from '../../src/upstream/upstream.js'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response } from '../support/scripted-upstream.js'

const timeouts = { connectMs: 5_000, responseMs: 60_000, bodyIdleMs: 60_000, idleMs: 4_000, tunnelIdleMs: 60_000 }
const values = Array.from({ length: 24 }, (_, index) => `value-${index}`)

describe('a hash of', () => {
  let upstreams: ReadingUpstream[]
  let gateway: Gateway
  let client: RawClient

  beforeEach(async () => {
    upstreams = await Promise.all(['a', 'b'].map((name) => new ReadingUpstream(() => response(name)).open()))
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
    for (const upstream of upstreams) await upstream.close()
  })

  async function open(balance: UpstreamOptions['balance']): Promise<void> {
    const endpoints = upstreams.map(({ port }) => {
      const address = { kind: 'tcp', host: '127.0.0.1', port, tls: false } as const
      return new Endpoint({ address, label: `${port}`, timeouts, limits: { headerBytes: 65_536, headerCount: 256 } })
    })
    const upstream = new Upstream({ name: 'test', endpoints, ...(balance === undefined ? {} : { balance }) })
    const action = { ...forwardTo(0), upstream }
    gateway = await new Gateway({ sites: { 'a.example': action, '*.a.example': action } }).open()
    client = await RawClient.connect(gateway.port)
  }

  async function endpointOf(request: string): Promise<string> {
    const count = client.answers.length + 1
    client.send(request)
    await until('an answer', () => client.answers.length === count)
    return client.answers[count - 1].slice(-1)
  }

  const keys: Readonly<Record<string, [UpstreamOptions['balance'], (value: string, noise: number) => string]>> = {
    'the path': [
      { kind: 'hash', key: { kind: 'path' } },
      (value, noise) => `GET /${value}?${noise} HTTP/1.1\r\nHost: a.example\r\n\r\n`,
    ],
    'the host': [
      { kind: 'hash', key: { kind: 'host' } },
      (value, noise) => `GET /${noise} HTTP/1.1\r\nHost: ${value}.a.example\r\n\r\n`,
    ],
    'a header': [
      { kind: 'hash', key: { kind: 'header', name: 'x-user' } },
      (value, noise) => `GET /${noise} HTTP/1.1\r\nHost: a.example\r\nX-User: ${value}\r\n\r\n`,
    ],
    'a cookie': [
      { kind: 'hash', key: { kind: 'cookie', name: 'user' } },
      (value, noise) =>
        `GET / HTTP/1.1\r\nHost: a.example\r\nCookie: a=${noise}; user=${value}; xuser=${noise}\r\n\r\n`,
    ],
  }
  for (const [name, [balance, requestOf]] of Object.entries(keys)) {
    test(`${name} decides, and nothing else`, async () => {
      await open(balance)
      const first: string[] = []
      for (const value of values) first.push(await endpointOf(requestOf(value, 1)))
      assert.equal(new Set(first).size, 2)
      for (const [index, value] of values.entries()) assert.equal(await endpointOf(requestOf(value, 2)), first[index])
    })
  }

  test('the client sends all its requests to one endpoint', async () => {
    await open({ kind: 'hash', key: { kind: 'client' } })
    const seen = new Set<string>()
    for (const value of values) seen.add(await endpointOf(`GET /${value} HTTP/1.1\r\nHost: a.example\r\n\r\n`))
    assert.equal(seen.size, 1)
  })
})
