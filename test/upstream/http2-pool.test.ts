import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type Http2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { afterEach, before, describe, type TestContext, test } from 'node:test'
import type { Endpoint } from '../../src/upstream/endpoint.js'
import { type CertificatePair, makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'
import { until } from '../support/deadline.js'
import { portOf } from '../support/port.js'
import { ScriptedUpstream } from '../support/scripted-upstream.js'
import { trusting } from './dial-rig.js'
import { endpointAt, get, type Sent, send } from './endpoint-at.js'

const roomy = { connections: 100, queued: 100, queueMs: 60_000 }

/** An HTTP/2 server of the runtime that keeps its requests waiting until the test answers them. */
class WaitingServer {
  readonly sessions: Http2Session[] = []
  readonly streams: ServerHttp2Stream[] = []
  readonly paths: string[] = []
  readonly #server: Http2Server

  constructor(settings: Settings = {}, tls?: CertificatePair) {
    this.#server =
      tls === undefined ? createServer({ settings }) : createSecureServer({ settings, cert: tls.chain, key: tls.key })
    this.#server.on('session', (session) => this.sessions.push(session))
    this.#server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined)
      this.streams.push(stream)
      this.paths.push(String(headers[':path']))
    })
  }

  async open(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get port(): number {
    return portOf(this.#server)
  }

  async arrives(count: number): Promise<void> {
    await until(`${count} requests arrive`, () => this.streams.length >= count)
  }

  answer(index: number, status = 200): void {
    const stream = this.streams[index] as ServerHttp2Stream
    stream.respond({ ':status': status })
    stream.end('ok')
  }

  close(): void {
    for (const session of this.sessions) session.destroy()
    this.#server.close()
  }
}

describe('the pool of an HTTP/2 endpoint', () => {
  let server: WaitingServer
  let endpoint: Endpoint

  afterEach(() => {
    endpoint.retire()
    server.close()
  })

  async function open(pool: Partial<typeof roomy> = {}, settings: Settings = {}): Promise<void> {
    server = await new WaitingServer(settings).open()
    endpoint = endpointAt(server.port, { protocol: 'h2', pool: { ...roomy, ...pool } })
  }

  function sendAll(...paths: string[]): Sent[] {
    return paths.map((path) => send(endpoint, get(path)))
  }

  /** One exchange, so that the connection stands and the settings of the server are known. */
  async function warmUp(): Promise<void> {
    const [first] = sendAll('/first') as [Sent]
    await server.arrives(1)
    server.answer(0)
    await first.settled()
  }

  test('is one connection for many requests, also while it is being made', async () => {
    await open()
    const sent = sendAll(...Array.from({ length: 50 }, (_, index) => `/${index}`))
    assert.equal(endpoint.active, 50)
    await server.arrives(50)
    assert.equal(server.sessions.length, 1)
    assert.equal(endpoint.connections, 1)
    assert.equal(endpoint.active, 50)
    for (const index of sent.keys()) server.answer(index)
    for (const each of sent) assert.equal((await each.settled()).status, 200)
    assert.equal(endpoint.active, 0)
    assert.equal(endpoint.connections, 1)
  })

  test('opens another connection when the endpoint takes no more streams on one', async () => {
    await open({}, { maxConcurrentStreams: 2 })
    await warmUp()
    sendAll('/a', '/b', '/c')
    await server.arrives(4)
    assert.equal(server.sessions.length, 2)
  })

  test('lets requests wait in line when the endpoint takes no more streams on as many as it may have', async () => {
    await open({ connections: 1, queued: 2 }, { maxConcurrentStreams: 2 })
    await warmUp()
    const sent = sendAll('/a', '/b', '/c', '/d', '/e')
    assert.equal((await (sent[4] as Sent).settled()).failure?.code, 'overloaded')
    await server.arrives(3)
    assert.equal(endpoint.active, 4)
    server.answer(1)
    await server.arrives(4)
    server.answer(2)
    await server.arrives(5)
    assert.deepEqual(server.paths.slice(1), ['/a', '/b', '/c', '/d'])
    server.answer(3)
    server.answer(4)
    for (const each of sent.slice(0, 4)) assert.equal((await each.settled()).status, 200)
    assert.equal(server.sessions.length, 1)
  })

  test('sends a second attempt on a connection that others use, but on none that is unused', async () => {
    await open()
    await warmUp()
    send(endpoint, get('/a'), 'fresh')
    await server.arrives(2)
    assert.equal(server.sessions.length, 2)
    send(endpoint, get('/b'), 'fresh')
    await server.arrives(3)
    assert.equal(server.sessions.length, 2)
  })

  test('replaces a connection that says goodbye, whose requests end in peace', async () => {
    await open()
    const [before] = sendAll('/before') as [Sent]
    await server.arrives(1)
    server.sessions[0]?.goaway(0, server.streams[0]?.id)
    await until('the goodbye is heard', () => endpoint.connections === 0)
    const [after] = sendAll('/after') as [Sent]
    await server.arrives(2)
    assert.equal(server.sessions.length, 2)
    server.answer(0)
    server.answer(1)
    assert.equal((await before.settled()).status, 200)
    assert.equal((await after.settled()).status, 200)
  })

  test('a connection that says goodbye leaves its place at once: its successor needs it', async () => {
    await open({ connections: 1 })
    sendAll('/before')
    await server.arrives(1)
    server.sessions[0]?.goaway(0, server.streams[0]?.id)
    await until('the goodbye is heard', () => endpoint.connections === 0)
    sendAll('/after')
    await server.arrives(2)
    assert.deepEqual(server.paths, ['/before', '/after'])
  })

  test('clients that give up many requests cost the others nothing: a fresh connection takes what comes next', async () => {
    await open()
    await warmUp()
    const [patient] = sendAll('/patient') as [Sent]
    await server.arrives(2)
    for (const { attempt } of sendAll(...Array.from({ length: 150 }, () => '/impatient'))) attempt.cancel()
    const [next] = sendAll('/next') as [Sent]
    await until('the next request arrives', () => server.paths.includes('/next'))
    assert.equal(server.sessions.length, 2)
    assert.equal(endpoint.connections, 1)
    server.answer(server.paths.indexOf('/next'))
    server.answer(1)
    assert.deepEqual([(await next.settled()).status, (await patient.settled()).status], [200, 200])
  })

  test('goodbyes and refused streams do not count as failures of the endpoint', async () => {
    server = await new WaitingServer().open()
    const passive = { failures: 1, windowMs: 60_000, ejectMs: 60_000 }
    endpoint = endpointAt(server.port, { protocol: 'h2', passive })
    endpoint.activate({ hasOther: () => true })
    const [refused, broken] = sendAll('/refused', '/broken') as [Sent, Sent]
    await server.arrives(2)
    server.streams[0]?.close(7)
    assert.equal((await refused.settled()).failure?.retry, 'always')
    assert.equal(endpoint.isAvailable, true)
    server.streams[1]?.close(2)
    assert.equal((await broken.settled()).failure?.retry, 'never')
    assert.equal(endpoint.isAvailable, false)
  })

  test('once retired, ends the connection after the requests in flight', async () => {
    await open()
    const [sent] = sendAll('/a') as [Sent]
    await server.arrives(1)
    endpoint.retire()
    server.answer(0)
    assert.equal((await sent.settled()).status, 200)
    await until('the connection ends', () => server.sessions.every(({ closed, destroyed }) => closed || destroyed))
  })

  test('is checked over HTTP/2', async () => {
    server = await new WaitingServer().open()
    const healthCheck = { path: '/healthz', host: undefined, expect: [{ from: 200, to: 299 }] }
    const pace = { intervalMs: 1, timeoutMs: 15_000, rise: 1, fall: 1 }
    endpoint = endpointAt(server.port, { protocol: 'h2', healthCheck: { ...healthCheck, ...pace }, random: () => 0 })
    endpoint.activate({ hasOther: () => false })
    await server.arrives(1)
    assert.deepEqual(server.paths, ['/healthz'])
    assert.equal(server.streams[0]?.sentHeaders, undefined)
    server.answer(0, 503)
    await until('it is down', () => !endpoint.isUp)
    await server.arrives(2)
    server.answer(1)
    await until('it is up', () => endpoint.isUp)
  })
})

describe('an endpoint that chooses its protocol by ALPN', () => {
  let authority: TestAuthority
  let pair: CertificatePair

  before(async () => {
    authority = await makeAuthority()
    pair = await makeCertificate({ names: ['a.example'], issuer: authority })
  })

  function overTls(context: TestContext, port: number): Endpoint {
    const address = { kind: 'tcp', host: '127.0.0.1', port, tls: true } as const
    const tls = trusting(authority.root)
    const endpoint = endpointAt(port, { address, protocol: 'auto', tls, serverName: 'a.example' })
    context.after(() => endpoint.retire())
    return endpoint
  }

  test('shares one connection where it speaks HTTP/2', async (context) => {
    const server = await new WaitingServer({}, pair).open()
    context.after(() => server.close())
    const endpoint = overTls(context, server.port)
    const sent = [send(endpoint), send(endpoint), send(endpoint)]
    await server.arrives(3)
    for (const index of sent.keys()) server.answer(index)
    for (const each of sent) assert.equal((await each.settled()).status, 200)
    assert.equal(server.sessions.length, 1)
  })

  test('has one for each request where it speaks HTTP/1.1', async (context) => {
    const answers: ServerResponse[] = []
    const server = createHttpsServer({ cert: pair.chain, key: pair.key }, (_, answer) => answers.push(answer))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    context.after(() => server.close())
    const endpoint = overTls(context, portOf(server))
    const sent = [send(endpoint), send(endpoint), send(endpoint)]
    await until('all arrive', () => answers.length === 3)
    assert.equal(endpoint.connections, 3)
    for (const answer of answers) answer.end('ok')
    for (const each of sent) assert.equal((await each.settled()).status, 200)
  })
})

test('an endpoint that would choose by ALPN has one connection for each request at once where there is no TLS', async () => {
  const upstream = await new ScriptedUpstream(() => undefined).open()
  const endpoint = endpointAt(upstream.port, { protocol: 'auto' })
  const sent = [send(endpoint), send(endpoint)]
  await upstream.accepts(2)
  for (const { attempt } of sent) attempt.cancel()
  await upstream.close()
})

test('an endpoint that should speak HTTP/2 but does not fails what was sent, and is dialled again', async (context) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  const endpoint = endpointAt(portOf(server), { protocol: 'h2' })
  for (let count = 0; count < 2; count++) {
    const { failure } = await send(endpoint).settled()
    assert.equal(failure?.status, 502)
  }
})
