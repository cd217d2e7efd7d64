// undici over HTTP/2: the client that most programs on Node speak through.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from 'undici'
import { makeCertificate } from '../support/certificates.js'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway, respondWith } from '../support/gateway.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response } from '../support/scripted-upstream.js'

const largeBytes = 4 * 1024 * 1024

describe('undici over h2', () => {
  let upstream: ReadingUpstream
  let gateway: Gateway
  let client: Client

  before(async () => {
    upstream = await new ReadingUpstream(({ head, body }) => {
      if (head.startsWith('GET /large ')) return response('x'.repeat(largeBytes))
      return response(body === '' ? head.slice(0, head.indexOf(' HTTP/1.1')) : body, 'x-seen: yes\r\n')
    }).open()
    const { cert, key } = await makeCertificate({ names: ['a.example'] })
    const sites = { 'a.example': forwardTo(upstream.port), 'b.example': respondWith('from b') }
    gateway = await new Gateway({ sites, protocol: 'h2', tls: { cert, key } }).open()
    const connect = { rejectUnauthorized: false, servername: 'a.example' }
    client = new Client(`https://127.0.0.1:${gateway.port}`, {
      allowH2: true,
      maxConcurrentStreams: 100,
      pipelining: 100,
      connect,
    })
  })
  after(async () => {
    await client.destroy()
    await gateway.close()
    await upstream.close()
  })

  async function ask(path: string, more: { host?: string; method?: 'GET' | 'POST'; body?: string } = {}) {
    const { host = 'a.example', method = 'GET', body = null } = more
    const answer = await client.request({ path, method, body, headers: { host } })
    return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() }
  }

  test('a request is answered by the site of its host, and an unknown host is 421', async () => {
    const answer = await ask('/a?b=c')
    assert.deepEqual([answer.status, answer.headers['x-seen'], answer.body], [200, 'yes', 'GET /a?b=c'])
    assert.equal((await ask('/', { host: 'b.example' })).body, 'from b')
    assert.equal((await ask('/', { host: 'nobody.example' })).status, 421)
    assert.deepEqual(new Set(gateway.entries.map(({ protocol }) => protocol)), new Set(['h2']))
  })

  test('large bodies pass both ways beside a hundred small requests, on one connection', async () => {
    const large = 'u'.repeat(largeBytes)
    const answers = await Promise.all([
      ask('/upload', { method: 'POST', body: large }),
      ask('/large'),
      ...Array.from({ length: 100 }, (_, index) => ask(`/${index}`)),
    ])
    assert.equal(answers[0]?.body, large)
    assert.equal(answers[1]?.body.length, largeBytes)
    for (const [index, { body }] of answers.slice(2).entries()) assert.equal(body, `GET /${index}`)
    assert.equal(gateway.connections.size, 1)
  })

  test('a request that is aborted ends at the endpoint, and the connection goes on', async () => {
    const abort = new AbortController()
    const answer = await client.request({
      path: '/large',
      method: 'GET',
      headers: { host: 'a.example' },
      signal: abort.signal,
    })
    answer.body.on('error', () => undefined)
    abort.abort()
    await until('the line', () => gateway.entries.at(-1)?.reason === 'client_gone')
    assert.equal((await ask('/after')).body, 'GET /after')
    assert.equal(gateway.connections.size, 1)
  })
})
