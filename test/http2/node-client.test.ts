// Node's own HTTP/2 client against the codec: somebody else's reading of the RFCs.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { test } from 'node:test'
import { answerEcho, ChunkSource, fieldsOf, type Handler, TestServer } from './harness.js'

async function withSession(
  run: (session: ClientHttp2Session, server: TestServer) => Promise<void>,
  handler: Handler,
): Promise<void> {
  const server = await TestServer.start(handler)
  const session = connect(`http://127.0.0.1:${server.port}`, { maxSessionMemory: 200 })
  session.on('error', () => undefined)
  try {
    await run(session, server)
  } finally {
    session.destroy()
    server.close()
  }
}

async function bodyOf(stream: ClientHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

test('requests and answers with every kind of byte arrive as they were', () =>
  withSession(
    async (session, server) => {
      // Node lets no control bytes through; all others go through its Huffman code and ours.
      const value = Array.from({ length: 256 }, (_, byte) =>
        byte > 0x20 && byte !== 0x7f ? String.fromCharCode(byte) : '',
      ).join('')
      for (let round = 0; round < 3; round++) {
        const stream = session.request({ ':path': `/${round}`, 'x-bytes': value, cookie: ['a=1', 'b=2'] })
        const [headers] = await once(stream, 'response')
        assert.equal(headers['x-bytes'], value)
        assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2'])
        assert.equal((await bodyOf(stream)).length, 100_000)
        assert.deepEqual(server.seen[round]?.lines, [`x-bytes: ${value}`, 'cookie: a=1; b=2'])
      }
    },
    (downstream) => {
      const [value = ''] = downstream.request.headers.valuesOf('x-bytes')
      const headers = fieldsOf(['X-Bytes', value], ['set-cookie', 'a=1'], ['set-cookie', 'b=2'])
      downstream.respond({ status: 200, reason: '', headers }, new ChunkSource([Buffer.alloc(100_000)]))
    },
  ))

test('a large upload is echoed whole beside a hundred small requests', () =>
  withSession(async (session) => {
    const large = session.request({ ':method': 'POST', ':path': '/large' })
    const sent = Buffer.alloc(20 * 1024 * 1024)
    for (let at = 0; at < sent.length; at += 4096) sent.writeUInt32BE(at, at)
    const received = bodyOf(large)
    large.end(sent)
    const small = Array.from({ length: 100 }, async (_, index) => {
      const stream = session.request({ ':method': 'POST', ':path': `/${index}` })
      stream.end(`body ${index}`)
      assert.equal((await bodyOf(stream)).toString(), `body ${index}`)
    })
    await Promise.all(small)
    assert.ok((await received).equals(sent))
  }, answerEcho))

test('trailers, informational heads and early hints reach it', () =>
  withSession(
    async (session) => {
      const stream = session.request({ ':method': 'POST', ':path': '/', expect: '100-continue' }, { endStream: false })
      const heard: unknown[] = []
      stream.on('continue', () => stream.end('body'))
      stream.on('headers', (headers) => heard.push(headers[':status']))
      stream.on('trailers', (trailers) => heard.push(trailers['x-sum']))
      await once(stream, 'response')
      assert.equal((await bodyOf(stream)).toString(), 'done')
      assert.deepEqual(heard, [100, 103, 'abc'])
    },
    (downstream) => {
      downstream.inform({ status: 100, reason: '', headers: fieldsOf() })
      downstream.inform({ status: 103, reason: '', headers: fieldsOf(['link', '</a>']) })
      const body = new ChunkSource([Buffer.from('done')], { trailers: fieldsOf(['x-sum', 'abc']) })
      downstream.respond({ status: 200, reason: '', headers: fieldsOf() }, body)
    },
  ))

test('a small header table of the client is respected', async () => {
  const server = await TestServer.start((downstream) => {
    const headers = fieldsOf(['x-a', 'a'.repeat(60)], ['x-b', 'b'.repeat(60)], ['x-c', downstream.request.target])
    downstream.respond({ status: 200, reason: '', headers }, undefined)
  })
  const session = connect(`http://127.0.0.1:${server.port}`, { settings: { headerTableSize: 128 } })
  try {
    for (let round = 0; round < 10; round++) {
      const stream = session.request({ ':path': `/${round % 3}` })
      const [headers] = await once(stream, 'response')
      assert.deepEqual([headers['x-b'], headers['x-c']], ['b'.repeat(60), `/${round % 3}`])
      stream.resume()
      await once(stream, 'close')
    }
  } finally {
    session.destroy()
    server.close()
  }
})
