// gRPC end to end, the real client and server on both sides of the gateway: calls of every kind, how they end, and what either
// side does to the other.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import {
  type Client,
  type ClientDuplexStream,
  Metadata,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js'
import { until, within } from '../support/deadline.js'
import { GrpcStage, pass, type Reach } from './service.js'

const messageBytes = 10 * 1024 * 1024
/** A PING with the head of its frame (RFC 9113 §6.7). */
const pingBytes = 17

for (const reach of ['h2c', 'TLS'] as const) describe(`gRPC to an endpoint over ${reach}`, () => calls(reach))

function calls(reach: Reach): void {
  let stage: GrpcStage
  let client: Client
  let unary: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => void
  let chat: (call: ServerDuplexStream<Buffer, Buffer>) => void

  before(async () => {
    stage = await GrpcStage.open(reach, {
      Unary: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => unary(call, answer),
      Upload: upload,
      Download: download,
      Chat: (call: ServerDuplexStream<Buffer, Buffer>) => chat(call),
    })
    client = stage.client()
  })
  beforeEach(() => {
    unary = (call, answer) => answer(null, call.request)
    chat = (call) => void call.on('data', (message: Buffer) => call.write(message)).on('end', () => call.end())
  })
  after(() => stage.close())

  function call(message: Buffer | string, more: { deadline?: Date; metadata?: Metadata; by?: Client } = {}) {
    const { deadline, metadata = new Metadata(), by = client } = more
    const options = deadline === undefined ? {} : { deadline }
    const reply = new Promise<Buffer>((resolve, reject) => {
      by.makeUnaryRequest('/test.Echo/Unary', pass, pass, Buffer.from(message), metadata, options, (error, value) => {
        if (error === null) resolve(value ?? Buffer.alloc(0))
        else reject(error)
      })
    })
    return within('a reply', reply)
  }

  function openChat(by = client): ClientDuplexStream<Buffer, Buffer> {
    const stream = by.makeBidiStreamRequest('/test.Echo/Chat', pass, pass)
    stream.on('error', () => undefined)
    return stream
  }

  test('a call of one message is answered with one', async () => {
    assert.equal(String(await call('hello')), 'hello')
    assert.equal(String(await call('')), '')
  })

  test('many messages up are one answer', async () => {
    const reply = new Promise<Buffer>((resolve, reject) => {
      const stream = client.makeClientStreamRequest('/test.Echo/Upload', pass, pass, (error, value) => {
        if (error === null) resolve(value ?? Buffer.alloc(0))
        else reject(error)
      })
      for (let index = 0; index < 100; index++) stream.write(Buffer.from(`${index} `))
      stream.end()
    })
    assert.equal(
      String(await within('the reply', reply)),
      Array.from({ length: 100 }, (_, index) => `${index} `).join(''),
    )
  })

  test('one message is answered with many', async () => {
    const stream = client.makeServerStreamRequest('/test.Echo/Download', pass, pass, Buffer.from('100'))
    const received: string[] = []
    for await (const message of stream) received.push(String(message))
    assert.deepEqual(
      received,
      Array.from({ length: 100 }, (_, index) => `${index}`),
    )
  })

  test('messages go to and fro, each as soon as it is said', async () => {
    const stream = openChat()
    for (const message of ['one', 'two', 'three']) {
      const reply = new Promise<Buffer>((resolve) => stream.once('data', resolve))
      stream.write(Buffer.from(message))
      assert.equal(String(await within('the reply', reply)), message)
    }
    const ended = new Promise<{ code: status }>((resolve) => stream.once('status', resolve))
    stream.end()
    assert.equal((await within('the status', ended)).code, status.OK)
  })

  test('a failure has its code, its words and its details, which are bytes', async () => {
    const details = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
    unary = (_, answer) => {
      const metadata = new Metadata()
      metadata.set('grpc-status-details-bin', details)
      metadata.set('x-why', 'because')
      answer({ code: status.FAILED_PRECONDITION, details: 'not so \u2603', metadata })
    }
    await assert.rejects(call('hello'), (error: ServiceError) => {
      assert.deepEqual([error.code, error.details], [status.FAILED_PRECONDITION, 'not so \u2603'])
      assert.deepEqual(error.metadata.get('grpc-status-details-bin'), [details])
      assert.deepEqual(error.metadata.get('x-why'), ['because'])
      return true
    })
  })

  test('words of a failure may be any', async () => {
    const details = '\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \u{1f608}\t\n'
    unary = (_, answer) => answer({ code: status.UNKNOWN, details })
    await assert.rejects(call('hello'), { code: status.UNKNOWN, details })
  })

  test('a method that nobody implements is said to be so, in a head alone', async () => {
    const unknown = new Promise((_, reject) => {
      client.makeUnaryRequest('/test.Echo/Unknown', pass, pass, Buffer.from('hello'), (error) => reject(error))
    })
    await assert.rejects(within('the answer', unknown), { code: status.UNIMPLEMENTED })
  })

  test('a stream without a message is one, and one that is cancelled before its first ends', async () => {
    const empty = openChat()
    const ended = new Promise<{ code: status }>((resolve) => empty.once('status', resolve))
    empty.resume().end()
    assert.equal((await within('the status', ended)).code, status.OK)
    const upload = new Promise((_, reject) => {
      const stream = client.makeClientStreamRequest('/test.Echo/Upload', pass, pass, (error) => reject(error))
      setImmediate(() => stream.cancel())
    })
    await assert.rejects(within('the end', upload), { code: status.CANCELLED })
  })

  test('metadata reaches the server, and its own the client before the first message', async () => {
    const metadata = new Metadata()
    metadata.set('x-one', '1')
    metadata.set('x-bytes-bin', Buffer.from([0, 255]))
    chat = (stream) => {
      const own = new Metadata()
      own.set('x-bytes-bin', stream.metadata.get('x-bytes-bin')[0] ?? '')
      stream.sendMetadata(own)
      stream.on('end', () => stream.end())
      stream.resume()
    }
    const stream = client.makeBidiStreamRequest('/test.Echo/Chat', pass, pass, metadata)
    const [first] = await within(
      'the metadata',
      new Promise<Metadata[]>((resolve) => stream.once('metadata', (own) => resolve([own]))),
    )
    assert.deepEqual(first?.get('x-bytes-bin'), [Buffer.from([0, 255])])
    stream.resume().end()
  })

  test('a deadline ends the call on both sides', async () => {
    let isCancelled = false
    unary = (serverCall) => {
      serverCall.on('cancelled', () => {
        isCancelled = true
      })
    }
    await assert.rejects(call('hello', { deadline: new Date(Date.now() + 300) }), { code: status.DEADLINE_EXCEEDED })
    await until('the server hears of it', () => isCancelled)
    unary = (serverCall, answer) =>
      answer(null, Buffer.from(String(serverCall.getDeadline() !== Number.POSITIVE_INFINITY)))
    assert.equal(String(await call('hello', { deadline: new Date(Date.now() + 60_000) })), 'true')
  })

  test('a client that cancels is heard of at the server', async () => {
    let isCancelled = false
    chat = (stream) => {
      stream.on('cancelled', () => {
        isCancelled = true
      })
      stream.on('data', (message: Buffer) => stream.write(message))
    }
    const stream = openChat()
    const reply = new Promise((resolve) => stream.once('data', resolve))
    stream.write(Buffer.from('hello'))
    await within('the reply', reply)
    const ended = new Promise<{ code: status }>((resolve) => stream.once('status', resolve))
    stream.cancel()
    assert.equal((await within('the status', ended)).code, status.CANCELLED)
    await until('the server hears of it', () => isCancelled)
  })

  test('a server that breaks off in the middle is a failed call', async () => {
    chat = (stream) => {
      stream.write(Buffer.from('half'))
      stream.emit('error', { code: status.ABORTED, details: 'enough' })
    }
    const stream = openChat()
    stream.resume().write(Buffer.from('hello'))
    const ended = new Promise<{ code: status; details: string }>((resolve) => stream.once('status', resolve))
    const { code, details } = await within('the status', ended)
    assert.deepEqual([code, details], [status.ABORTED, 'enough'])
  })

  test('messages of ten megabytes pass both ways', async () => {
    const message = Buffer.alloc(messageBytes, 'grpc')
    assert.ok((await call(message)).equals(message))
  })

  test('a hundred streams run at once, and none waits for another', async () => {
    const streams = Array.from({ length: 100 }, () => openChat())
    for (let round = 0; round < 3; round++) {
      const replies = streams.map((stream) => new Promise<Buffer>((resolve) => stream.once('data', resolve)))
      for (const [index, stream] of streams.entries()) stream.write(Buffer.from(`${index}/${round}`))
      const received = await within('the replies', Promise.all(replies))
      assert.deepEqual(
        received.map(String),
        streams.map((_, index) => `${index}/${round}`),
      )
    }
    for (const stream of streams) stream.end()
  })

  test('a server that says goodbye during calls fails none of them', async () => {
    const goingOn = openChat()
    const first = new Promise<Buffer>((resolve) => goingOn.once('data', resolve))
    goingOn.write(Buffer.from('before'))
    await within('the reply', first)
    for (let round = 0; round < 5; round++) {
      const replies = Array.from({ length: 20 }, (_, index) => call(`${round}/${index}`))
      await replies[0]
      stage.sendAway()
      assert.deepEqual(
        (await Promise.all(replies)).map(String),
        replies.map((_, index) => `${round}/${index}`),
      )
    }
    const last = new Promise<Buffer>((resolve) => goingOn.once('data', resolve))
    goingOn.write(Buffer.from('after'))
    assert.equal(String(await within('the reply', last)), 'after')
    goingOn.end()
  })

  test('a client that pings keeps its connection', async () => {
    const pinging = stage.client({
      'grpc.keepalive_time_ms': 100,
      'grpc.keepalive_timeout_ms': 10_000,
      'grpc.keepalive_permit_without_calls': 1,
    })
    assert.equal(String(await call('before', { by: pinging })), 'before')
    const { connectionId } = stage.gateway.entries.at(-1) ?? {}
    const stream = openChat(pinging)
    const talk = async (message: string): Promise<void> => {
      const reply = new Promise<Buffer>((resolve) => stream.once('data', resolve))
      stream.write(Buffer.from(message))
      assert.equal(String(await within('the reply', reply)), message)
    }
    await talk('now')
    const socket = [...stage.gateway.sockets].at(-1)
    const quietBytes = socket?.bytesRead ?? 0
    await until('several pings have come', () => (socket?.bytesRead ?? 0) >= quietBytes + 5 * pingBytes)
    await talk('later')
    stream.end()
    assert.equal(String(await call('after', { by: pinging })), 'after')
    assert.equal(stage.gateway.entries.at(-1)?.connectionId, connectionId)
  })
}

function upload(call: ServerReadableStream<Buffer, Buffer>, answer: sendUnaryData<Buffer>): void {
  const messages: Buffer[] = []
  call.on('data', (message: Buffer) => messages.push(message))
  call.on('end', () => answer(null, Buffer.concat(messages)))
}

function download(call: ServerWritableStream<Buffer, Buffer>): void {
  const count = Number(String(call.request))
  for (let index = 0; index < count; index++) call.write(Buffer.from(`${index}`))
  call.end()
}
