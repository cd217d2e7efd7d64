import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { within } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'

/** What one exchange came to, without what any gateway may change. */
interface Outcome {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

interface Case {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const cases: readonly Case[] = [
  { name: 'a GET', method: 'GET', path: '/plain?x=1&y=%20' },
  { name: 'a HEAD', method: 'HEAD', path: '/plain' },
  { name: 'a chunked answer', method: 'GET', path: '/chunked' },
  { name: 'a POST with a length', method: 'POST', path: '/echo', body: 'a=b', headers: { 'content-length': '3' } },
  {
    name: 'a chunked POST',
    method: 'POST',
    path: '/echo',
    body: 'x'.repeat(100_000),
    headers: { 'transfer-encoding': 'chunked' },
  },
  { name: 'a 204', method: 'GET', path: '/204' },
  { name: 'a 304 with a tag', method: 'GET', path: '/304' },
  { name: 'several cookies', method: 'GET', path: '/cookies' },
  { name: 'a 404', method: 'GET', path: '/404' },
  { name: 'a DELETE', method: 'DELETE', path: '/echo' },
  { name: 'bytes beyond ASCII in a value', method: 'GET', path: '/latin1' },
]

const answers: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
  '/plain': (_, response) => response.end('hello'),
  '/chunked': (_, response) => {
    response.write('one')
    response.end('two')
  },
  '/echo': (incoming, response) => {
    incoming.pipe(response)
  },
  '/204': (_, response) => response.writeHead(204).end(),
  '/304': (_, response) => response.writeHead(304, { etag: '"1"' }).end(),
  '/cookies': (_, response) => response.setHeader('set-cookie', ['a=1', 'b=2']).end('c'),
  '/404': (_, response) => response.writeHead(404).end('no'),
  '/latin1': (_, response) => response.setHeader('x-name', 'caf\u00e9').end('n'),
}

/** The library is CommonJS without types; two of its functions are used. */
interface HttpProxy {
  createProxyServer(options: { target: string }): {
    web(request: IncomingMessage, response: ServerResponse): void
    close(): void
  }
}

describe('what http-proxy answers, Hostward answers too', () => {
  const httpProxy = createRequire(import.meta.url)('http-proxy') as HttpProxy
  let origin: Server
  let reference: Server
  let gateway: Gateway
  before(async () => {
    origin = await listening(createServer((incoming, response) => answers[pathOf(incoming)]?.(incoming, response)))
    const proxy = httpProxy.createProxyServer({ target: `http://127.0.0.1:${portOf(origin)}` })
    reference = await listening(createServer((incoming, response) => proxy.web(incoming, response)))
    gateway = await new Gateway({ sites: { 'a.example': forwardTo(portOf(origin)) } }).open()
  })
  after(async () => {
    await gateway.close()
    reference.close()
    origin.closeAllConnections()
    origin.close()
  })

  for (const each of cases) {
    test(each.name, async () => {
      const expected = await exchange(portOf(reference), each)
      assert.deepEqual(await exchange(gateway.port, each), expected)
    })
  }
})

async function exchange(port: number, { method, path, headers, body }: Case): Promise<Outcome> {
  const outgoing = request({
    port,
    host: '127.0.0.1',
    method,
    path,
    headers: { host: 'a.example', ...headers },
    agent: false,
  })
  outgoing.end(body)
  const [response] = (await within('an answer', once(outgoing, 'response'))) as [IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('latin1')) text += chunk
  const { connection, date, 'keep-alive': keepAlive, ...kept } = response.headers
  return { status: response.statusCode, headers: kept, body: text }
}

async function listening(server: Server): Promise<Server> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function pathOf(incoming: IncomingMessage): string {
  return (incoming.url ?? '').split('?', 1)[0] ?? ''
}
