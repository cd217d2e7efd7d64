// gRPC end to end: grpc-js on both sides, HTTP/2 on both sides of the gateway. Calls of every kind, errors, deadlines,
// cancellation, large messages.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js'
import { until, within } from '../support/deadline.js'
import { forwardToHttp2, Gateway } from '../support/gateway.js'

const pass = (bytes: Buffer) => bytes
const codec = { requestSerialize: pass, requestDeserialize: pass, responseSerialize: pass, responseDeserialize: pass }
const unbounded = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 }

const service: ServiceDefinition = {
  unary: { path: '/Echo/unary', requestStream: false, responseStream: false, ...codec },
  refuse: { path: '/Echo/refuse', requestStream: false, responseStream: false, ...codec },
  count: { path: '/Echo/count', requestStream: true, responseStream: false, ...codec },
  repeat: { path: '/Echo/repeat', requestStream: false, responseStream: true, ...codec },
  both: { path: '/Echo/both', requestStream: true, responseStream: true, ...codec },
  wait: { path: '/Echo/wait', requestStream: false, responseStream: true, ...codec },
}

describe('a gRPC endpoint over HTTP/2', () => {
  const server = new Server(unbounded)
  let gateway: Gateway
  let client: Client
  let waiting = 0
  let cancelled = 0

  before(async () => {
    server.addService(service, {
      unary: (call: { request: Buffer }, answer: sendUnaryData<Buffer>) => answer(null, call.request),
      refuse: (_: unknown, answer: sendUnaryData<Buffer>) => answer({ code: status.NOT_FOUND, details: 'not here' }),
      count: (call: NodeJS.ReadableStream, answer: sendUnaryData<Buffer>) => {
        let messages = 0
        call.on('data', () => messages++)
        call.on('end', () => answer(null, Buffer.from(String(messages))))
      },
      repeat: (call: NodeJS.WritableStream & { request: Buffer }) => {
        for (let count = 0; count < 10; count++) call.write(call.request)
        call.end()
      },
      both: (call: NodeJS.ReadWriteStream) => {
        call.on('data', (chunk: Buffer) => call.write(chunk))
        call.on('end', () => call.end())
      },
      wait: (call: NodeJS.WritableStream & NodeJS.EventEmitter) => {
        waiting++
        call.write(Buffer.from('begun'))
        call.on('cancelled', () => {
          cancelled++
        })
      },
    })
    const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', ServerCredentials.createInsecure())
    gateway = await new Gateway({ sites: { 'a.example': forwardToHttp2(port as number) }, protocol: 'h2' }).open()
    const options = { 'grpc.default_authority': 'a.example', ...unbounded }
    client = new Client(`127.0.0.1:${gateway.port}`, credentials.createInsecure(), options)
  })

  after(async () => {
    client.close()
    server.forceShutdown()
    await gateway.close()
  })

  function unary(method: string, message: Buffer): Promise<Buffer> {
    const reply = new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(`/Echo/${method}`, pass, pass, message, (error, value) => {
        if (error === null && value !== undefined) resolve(value)
        else reject(error)
      })
    })
    return within(`a reply of ${method}`, reply)
  }

  /** All messages of a stream; rejects with its status. */
  function messagesOf(stream: NodeJS.ReadableStream): Promise<string[]> {
    const messages: string[] = []
    stream.on('data', (message: Buffer) => messages.push(String(message)))
    return within(
      'the end of a stream',
      new Promise((resolve, reject) => stream.on('error', reject).on('end', () => resolve(messages))),
    )
  }

  test('answers unary calls, ten mebibytes too', async () => {
    assert.equal(String(await unary('unary', Buffer.from('ping'))), 'ping')
    const large = Buffer.alloc(10 << 20, 'x')
    assert.ok((await unary('unary', large)).equals(large))
  })

  test('refuses with its own status', () =>
    assert.rejects(unary('refuse', Buffer.from('x')), (error: ServiceError) => {
      assert.equal(error.code, status.NOT_FOUND)
      assert.equal(error.details, 'not here')
      return true
    }))

  test('takes a stream of messages', async () => {
    const reply = new Promise<string>((resolve, reject) => {
      const stream = client.makeClientStreamRequest('/Echo/count', pass, pass, (error, value) => {
        if (error === null) resolve(String(value))
        else reject(error)
      })
      for (let count = 0; count < 20; count++) stream.write(Buffer.from('message'))
      stream.end()
    })
    assert.equal(await within('a reply', reply), '20')
  })

  test('gives a stream of messages', async () => {
    const stream = client.makeServerStreamRequest('/Echo/repeat', pass, pass, Buffer.from('again'))
    assert.deepEqual(
      await messagesOf(stream),
      Array.from({ length: 10 }, () => 'again'),
    )
  })

  test('talks in both directions, word by word', async () => {
    const stream = client.makeBidiStreamRequest('/Echo/both', pass, pass)
    const heard: string[] = []
    stream.on('data', (message: Buffer) => heard.push(String(message)))
    for (let count = 0; count < 10; count++) {
      stream.write(Buffer.from(`word ${count}`))
      await until('the word comes back', () => heard.length === count + 1)
    }
    stream.end()
    await messagesOf(stream)
    assert.equal(heard[9], 'word 9')
  })

  test('hears of a cancellation, and its client of its own', async () => {
    const before = { waiting, cancelled }
    const stream = client.makeServerStreamRequest('/Echo/wait', pass, pass, Buffer.from('x'))
    const end = messagesOf(stream)
    await until('the call is under way', () => waiting > before.waiting)
    stream.cancel()
    await assert.rejects(end, (error: ServiceError) => error.code === status.CANCELLED)
    await until('the endpoint hears of it', () => cancelled > before.cancelled)
  })

  test('is held to a deadline', async () => {
    const deadline = new Date(Date.now() + 200)
    const stream = client.makeServerStreamRequest('/Echo/wait', pass, pass, Buffer.from('x'), { deadline })
    await assert.rejects(messagesOf(stream), (error: ServiceError) => error.code === status.DEADLINE_EXCEEDED)
  })
})
