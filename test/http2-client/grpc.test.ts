// The real gRPC server of @grpc/grpc-js behind the client's side: calls of every kind, errors that are trailers only,
// deadlines and cancellation.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { Server, ServerCredentials, type ServiceDefinition, type sendUnaryData, status } from '@grpc/grpc-js'
import type { Http2ClientConnection } from '../../src/http2/client-connection.js'
import type { BodySource } from '../../src/wire/body.js'
import { ChunkSource } from '../http2/harness.js'
import { until } from '../support/deadline.js'
import { connected, connectionOver, HandSource, outgoing, RecordedAttempt, RecordedOwner } from './rig.js'

const identity = (message: Buffer) => message
const codec = {
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
}

const echoService: ServiceDefinition = {
  unary: { path: '/Echo/unary', requestStream: false, responseStream: false, ...codec },
  refuse: { path: '/Echo/refuse', requestStream: false, responseStream: false, ...codec },
  both: { path: '/Echo/both', requestStream: true, responseStream: true, ...codec },
  wait: { path: '/Echo/wait', requestStream: false, responseStream: false, ...codec },
}

/** One message as gRPC frames it. */
function message(payload: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(payload.length, 1)
  return Buffer.concat([head, payload])
}

describe('a gRPC server', () => {
  const owner = new RecordedOwner()
  const server = new Server({ 'grpc.max_receive_message_length': -1 })
  let connection: Http2ClientConnection
  let cancelled = 0

  before(async () => {
    server.addService(echoService, {
      unary: (call: { request: Buffer }, answer: sendUnaryData<Buffer>) => answer(null, call.request),
      refuse: (_: unknown, answer: sendUnaryData<Buffer>) => answer({ code: status.NOT_FOUND, details: 'not here' }),
      both: (call: NodeJS.ReadWriteStream) => {
        call.on('data', (chunk: Buffer) => call.write(chunk))
        call.on('end', () => call.end())
      },
      wait: (call: NodeJS.EventEmitter) => {
        call.on('cancelled', () => {
          cancelled++
        })
      },
    })
    const bind = promisify(server.bindAsync.bind(server))
    const port = await bind('127.0.0.1:0', ServerCredentials.createInsecure())
    connection = connectionOver(await connected(port as number), owner)
  })

  after(() => {
    connection.destroy()
    server.forceShutdown()
  })

  function call(method: string, body: BodySource, deadline = '10S'): RecordedAttempt {
    const recorded = new RecordedAttempt()
    const fields = [
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['grpc-timeout', deadline],
    ] as const
    recorded.attempt = connection.send(outgoing({ method: 'POST', path: `/Echo/${method}`, fields, body }), recorded)
    return recorded
  }

  test('answers a unary call with a message and trailers', async () => {
    const recorded = await call('unary', new ChunkSource([message(Buffer.from('hello'))])).whole()
    assert.equal(recorded.status, 200)
    assert.equal(recorded.sink.text, message(Buffer.from('hello')).toString('latin1'))
    assert.deepEqual(
      recorded.sink.trailers.find(([name]) => name === 'grpc-status'),
      ['grpc-status', '0'],
    )
  })

  test('takes and gives a message of ten mebibytes', async () => {
    const large = message(Buffer.alloc(10 << 20, 'x'))
    const recorded = await call('unary', new ChunkSource([large])).whole()
    assert.equal(recorded.sink.bytes, large.length)
    assert.equal(recorded.sink.ended, 'end')
  })

  test('refuses with trailers only', async () => {
    const recorded = await call('refuse', new ChunkSource([message(Buffer.from('x'))])).whole()
    assert.equal(recorded.status, 200)
    const lines = [...recorded.lines, ...recorded.sink.trailers]
    assert.deepEqual(
      lines.find(([name]) => name === 'grpc-status'),
      ['grpc-status', String(status.NOT_FOUND)],
    )
  })

  test('talks in both directions at once', async () => {
    const body = new HandSource()
    const recorded = call('both', body)
    for (let count = 0; count < 10; count++) {
      const said = message(Buffer.from(`message ${count}`))
      const { bytes } = recorded.sink
      body.sink.write(said)
      await until('it comes back', () => recorded.sink.bytes === bytes + said.length)
    }
    body.sink.end(undefined)
    await recorded.whole()
    assert.equal(recorded.sink.ended, 'end')
  })

  test('ends a call whose deadline has passed', async () => {
    const recorded = await call('wait', new ChunkSource([message(Buffer.from('x'))]), '50m').final()
    const lines = recorded.failure === undefined ? [...recorded.lines, ...recorded.sink.trailers] : []
    const isTold = lines.some(([name, value]) => name === 'grpc-status' && value === String(status.DEADLINE_EXCEEDED))
    assert.ok(isTold || recorded.failure?.code === 'upstream_reset')
  })

  test('hears that a call was cancelled', async () => {
    const before = cancelled
    const recorded = call('wait', new ChunkSource([message(Buffer.from('x'))]))
    await until('the call is under way', () => connection.active > 0)
    // Proves that the server has seen the call before it is cancelled.
    await call('unary', new ChunkSource([message(Buffer.from('x'))])).whole()
    recorded.attempt?.cancel()
    await until('the server hears of it', () => cancelled > before)
    assert.equal(recorded.finals, 0)
  })
})
