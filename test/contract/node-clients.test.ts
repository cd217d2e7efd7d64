// The clients that programs on Node use over HTTP/1 and TLS: fetch, undici with requests in the pipe, and the runtime's own with
// kept connections. Answers that come bit by bit are read bit by bit.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { get, Agent as TlsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Agent, Client, fetch } from 'undici'
import { makeCertificate } from '../support/certificates.js'
import { until, within } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { portOf } from '../support/port.js'

const host = 'a.example'
const trusting = { rejectUnauthorized: false }

/** Every name is here. */
const lookup: LookupFunction = (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }])

describe('over HTTP/1 and TLS', () => {
  let server: Server
  let gateway: Gateway
  let listener: RequestListener
  let origin: string

  before(async () => {
    server = createServer((request, response) => listener(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { cert, key } = await makeCertificate({ names: [host] })
    gateway = await new Gateway({ sites: { [host]: forwardTo(portOf(server)) }, tls: { cert, key } }).open()
    origin = `https://${host}:${gateway.port}`
  })
  beforeEach(() => {
    listener = ({ method, url }, response) => void response.end(`${method} ${url}`)
  })
  after(async () => {
    await gateway.close()
    server.closeAllConnections()
    server.close()
  })

  const dispatcherFor = (): Agent => new Agent({ connect: { ...trusting, lookup }, allowH2: false })
  const headers = { host }

  test('fetch sends a stream without a length, follows a redirect and reads JSON', async () => {
    const dispatcher = dispatcherFor()
    listener = async (request, response) => {
      if (request.url === '/old') return void response.writeHead(307, { location: '/new' }).end()
      let body = ''
      for await (const chunk of request) body += String(chunk)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ url: request.url, body, coding: request.headers['transfer-encoding'] }))
    }
    const stream = new ReadableStream({
      start(controller) {
        for (const piece of ['hel', 'lo']) controller.enqueue(new TextEncoder().encode(piece))
        controller.close()
      },
    })
    const up = await fetch(`${origin}/up`, { dispatcher, method: 'POST', body: stream, duplex: 'half' })
    // Held until it was whole, and passed on as it came.
    assert.deepEqual(await up.json(), { url: '/up', body: 'hello', coding: 'chunked' })
    const moved = await fetch(`${origin}/old`, { dispatcher, method: 'POST', body: 'hello' })
    assert.deepEqual(await moved.json(), { url: '/new', body: 'hello' })
    await dispatcher.close()
  })

  test('ten requests in the pipe at any time are a hundred answers in order, on one connection', async () => {
    const client = new Client(origin, { connect: { ...trusting, lookup }, pipelining: 10, allowH2: false })
    const before = gateway.entries.length
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const { body } = await client.request({ path: `/${index}`, method: 'GET', headers })
        return await body.text()
      }),
    )
    assert.deepEqual(
      answers,
      answers.map((_, index) => `GET /${index}`),
    )
    assert.equal(new Set(gateway.entries.slice(before).map(({ peer }) => peer)).size, 1)
    await client.close()
  })

  test('kept connections of the runtime are used again and again', async () => {
    const agent = new TlsAgent({ keepAlive: true, maxSockets: 2, ...trusting })
    const before = gateway.entries.length
    const ask = (path: string) =>
      new Promise<number>((resolve, reject) => {
        const sent = get({ agent, host: '127.0.0.1', port: gateway.port, path, headers }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0))
        })
        sent.on('error', reject)
      })
    const statuses = await Promise.all(Array.from({ length: 50 }, (_, index) => ask(`/${index}`)))
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.equal(new Set(gateway.entries.slice(before).map(({ peer }) => peer)).size, 2)
    agent.destroy()
  })

  test('events are read one by one, and who stops listening is gone at the endpoint', async () => {
    const dispatcher = dispatcherFor()
    let events: ServerResponse | undefined
    let isGone = false
    listener = (_, response) => {
      events = response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.on('close', () => {
        isGone = true
      })
      response.flushHeaders()
    }
    const abort = new AbortController()
    // The head comes before any of the body.
    const answer = await within('the head', fetch(origin, { dispatcher, signal: abort.signal }))
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (const event of ['data: 1\n\n', ': \n\n', 'data: 2\n\n']) {
      events?.write(event)
      assert.equal((await within('the event', reader?.read() ?? Promise.reject()))?.value, event)
    }
    abort.abort()
    await until('the endpoint hears of it', () => isGone)
    await reader?.cancel().catch(() => undefined)
    await dispatcher.close()
  })

  test('a long poll is answered whenever there is something to say', async () => {
    const dispatcher = dispatcherFor()
    const polled = new Promise<ServerResponse>((resolve) => {
      listener = (_, response) => resolve(response)
    })
    const answer = fetch(`${origin}/poll`, { dispatcher })
    const response = await within('the poll', polled)
    response.end('news')
    assert.equal(await (await within('the answer', answer)).text(), 'news')
    await dispatcher.close()
  })
})
