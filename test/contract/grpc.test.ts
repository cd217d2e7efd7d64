// grpc-js over HTTP/2, with an endpoint that says gRPC in HTTP/1: statuses reach the client in heads and in trailers, and
// failures of our own are those that gRPC makes of their HTTP status.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { within } from '../support/deadline.js'
import { freePort } from '../support/free-port.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { ReadingUpstream } from '../support/reading-upstream.js'

/** A message as gRPC frames it: not compressed, its length, its bytes (all printable, as an upstream of texts wants it). */
function framed(message: string): string {
  return `\0\0\0\0${String.fromCharCode(message.length)}${message}`
}

function chunked(body: string, trailers: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/grpc\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailers}\r\n`
}

const answers: Readonly<Record<string, string>> = {
  '/test/Good': chunked(framed('pong'), 'grpc-status: 0\r\ngrpc-message: fine\r\n'),
  '/test/Late': chunked(framed('half'), 'grpc-status: 13\r\ngrpc-message: broke down\r\n'),
  '/test/Missing':
    'HTTP/1.1 200 OK\r\ncontent-type: application/grpc\r\ngrpc-status: 5\r\ngrpc-message: no such thing\r\ncontent-length: 0\r\n\r\n',
}

describe('grpc-js', () => {
  let upstream: ReadingUpstream
  let gateway: Gateway
  const clients: Client[] = []

  before(async () => {
    upstream = await new ReadingUpstream(({ head }) => answers[head.split(' ')[1] ?? ''] ?? '').open()
    const sites = { 'a.example': forwardTo(upstream.port), 'down.example': forwardTo(await freePort()) }
    gateway = await new Gateway({ sites, protocol: 'h2' }).open()
  })
  after(async () => {
    for (const client of clients) client.close()
    await gateway.close()
    await upstream.close()
  })

  /** The reply to a unary call. */
  function call(method: string, host = 'a.example'): Promise<string> {
    const client = new Client(`127.0.0.1:${gateway.port}`, credentials.createInsecure(), {
      'grpc.default_authority': host,
    })
    clients.push(client)
    const pass = (bytes: Buffer) => bytes
    const reply = new Promise<string>((resolve, reject) => {
      client.makeUnaryRequest(method, pass, pass, Buffer.from('ping'), (error, value) => {
        if (error === null) resolve(String(value))
        else reject(error)
      })
    })
    return within(`a reply of ${method}`, reply)
  }

  test('a call whose status comes in trailers is answered', async () => {
    assert.equal(await call('/test/Good'), 'pong')
    assert.equal(upstream.requests.at(-1)?.body, framed('ping'))
    assert.match(
      upstream.requests.at(-1)?.head ?? '',
      /^POST \/test\/Good HTTP\/1\.1\r\n[\s\S]*content-type: application\/grpc/,
    )
  })

  const failures: readonly (readonly [story: string, method: string, host: string, code: status, details: RegExp])[] = [
    ['a status other than OK in trailers', '/test/Late', 'a.example', status.INTERNAL, /^broke down$/],
    [
      'a status in the head of an answer without a message',
      '/test/Missing',
      'a.example',
      status.NOT_FOUND,
      /^no such thing$/,
    ],
    ['an endpoint that is down', '/test/Good', 'down.example', status.UNAVAILABLE, /502/],
    ['a host that nobody claims', '/test/Good', 'nobody.example', status.UNKNOWN, /421/],
  ]
  for (const [story, method, host, code, details] of failures) {
    test(`${story} is the status of the call`, async () => {
      await assert.rejects(call(method, host), (error: ServiceError) => {
        assert.equal(error.code, code)
        assert.match(error.details, details)
        return true
      })
    })
  }
})
