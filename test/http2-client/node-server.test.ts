// The runtime's own HTTP/2 server as the endpoint: what two codecs agree on that share no line.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { constants, createServer, type Http2Server, type ServerHttp2Stream, type ServerOptions } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { Http2ClientConnection } from '../../src/http2/client-connection.js'
import { ChunkSource, fieldsOf } from '../http2/harness.js'
import { until } from '../support/deadline.js'
import {
  connected,
  connectionOver,
  HandSource,
  outgoing,
  RecordedAttempt,
  RecordedOwner,
  type TestRequest,
} from './rig.js'

const mebibyte = 1 << 20

/** A connection to a server of the runtime. */
interface Pair {
  readonly server: Http2Server
  readonly owner: RecordedOwner
  readonly connection: Http2ClientConnection
  send(request?: Partial<TestRequest>): RecordedAttempt
}

async function withServer(
  answer: (stream: ServerHttp2Stream, path: string) => void,
  run: (pair: Pair) => Promise<void>,
  options: ServerOptions = {},
): Promise<void> {
  const server = createServer(options)
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    answer(stream, String(headers[':path']))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = await connected((server.address() as AddressInfo).port)
  const owner = new RecordedOwner()
  const connection = connectionOver(socket, owner)
  const send = (request: Partial<TestRequest> = {}) => {
    const recorded = new RecordedAttempt()
    recorded.attempt = connection.send(outgoing(request), recorded)
    return recorded
  }
  try {
    await run({ server, owner, connection, send })
  } finally {
    connection.destroy()
    server.close()
  }
}

function echo(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 })
  stream.pipe(stream)
}

/** Ten mebibytes in pieces of odd sizes. */
function pieces(bytes: Buffer): Buffer[] {
  const cut: Buffer[] = []
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 11) % 70_000) {
    size += 1
    cut.push(bytes.subarray(at, at + size))
  }
  return cut
}

test('a request without a body is answered', () =>
  withServer(
    (stream, path) => {
      stream.respond({ ':status': 200, 'x-path': path })
      stream.end('hello')
    },
    async ({ send }) => {
      const recorded = await send({ path: '/here?a=b' }).whole()
      assert.equal(recorded.status, 200)
      assert.equal(recorded.sink.text, 'hello')
      assert.ok(recorded.lines.some(([name, value]) => name === 'x-path' && value === '/here?a=b'))
    },
  ))

test('ten mebibytes go up and come back at once, byte for byte', () =>
  withServer(echo, async ({ send }) => {
    const sent = randomBytes(10 * mebibyte)
    const hash = createHash('sha256')
    const recorded = send({ method: 'POST', body: new ChunkSource(pieces(sent), { lengthBytes: sent.length }) })
    const write = recorded.sink.write.bind(recorded.sink)
    recorded.sink.write = (chunk) => {
      hash.update(chunk)
      return write(chunk)
    }
    await recorded.whole()
    assert.equal(recorded.sink.bytes, sent.length)
    assert.equal(hash.digest('hex'), createHash('sha256').update(sent).digest('hex'))
  }))

test('trailers pass both ways', () =>
  withServer(
    (stream) => {
      stream.on('trailers', (trailers) => {
        stream.on('wantTrailers', () => stream.sendTrailers({ 'x-echoed': trailers['x-sent'] }))
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.end()
      })
      stream.resume()
    },
    async ({ send }) => {
      const body = new ChunkSource([Buffer.from('x')], { trailers: fieldsOf(['x-sent', 'value']) })
      const recorded = await send({ method: 'POST', body }).whole()
      assert.deepEqual(recorded.sink.trailers, [['x-echoed', 'value']])
    },
  ))

test('a thousand requests at once, queued at the limit of the server, are all answered', () =>
  withServer(
    (stream, path) => {
      stream.respond({ ':status': 200 })
      stream.end(path)
    },
    async ({ connection, owner, send }) => {
      const sent: RecordedAttempt[] = []
      const sendMore = () => {
        while (connection.capacity > 0 && sent.length < 1000) sent.push(send({ path: `/${sent.length}` }))
      }
      let most = 0
      owner.whenAvailable = () => {
        most = Math.max(most, connection.active)
        sendMore()
      }
      sendMore()
      await until('all are sent', () => sent.length === 1000)
      for (const [index, recorded] of sent.entries()) {
        await recorded.whole()
        assert.equal(recorded.sink.text, `/${index}`)
      }
      assert.ok(most < 100, `${most} at once`)
      assert.equal(connection.active, 0)
      assert.deepEqual(owner.failed, [])
    },
    { settings: { maxConcurrentStreams: 100 } },
  ))

test('a server that closes gracefully answers what it has taken', () =>
  withServer(
    (stream) => {
      stream.respond({ ':status': 200 })
      stream.write('first, ')
      stream.session?.close()
      stream.once('data', () => stream.end('second'))
    },
    async ({ owner, connection, send }) => {
      const body = new HandSource()
      const recorded = send({ method: 'POST', body })
      await recorded.final()
      await until('the goodbye has come', () => owner.closed === 1)
      assert.equal(connection.capacity, 0)
      body.sink.write(Buffer.from('go on'))
      await recorded.whole()
      assert.equal(recorded.sink.text, 'first, second')
      assert.equal(recorded.sink.ended, 'end')
    },
  ))

test('a server that resets is heard', () =>
  withServer(
    (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
    async ({ send }) => {
      const recorded = await send({ method: 'POST' }).final()
      assert.equal(recorded.failure?.retry, 'always')
    },
  ))

test('a cancelled attempt is heard by the server', () => {
  let code: number | undefined
  return withServer(
    (stream) => {
      stream.on('close', () => {
        code = stream.rstCode
      })
      stream.respond({ ':status': 200 })
      stream.write('some')
    },
    async ({ send }) => {
      const recorded = await send().final()
      recorded.attempt?.cancel()
      await until('the server hears of it', () => code !== undefined)
      assert.equal(code, constants.NGHTTP2_CANCEL)
    },
  )
})
