// A client's connection beside an endpoint that the test plays frame by frame, and observers that keep what they hear.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Http2ClientConnection } from '../../src/http2/client-connection.js'
import { ErrorCode, Flag, FrameType, readUint32 } from '../../src/http2/frames.js'
import type { ResetBounds } from '../../src/http2/paced-resets.js'
import type { Attempt, AttemptObserver, OutgoingRequest, Tunnel } from '../../src/wire/attempt.js'
import { type BodySink, type BodySource, unknownLength } from '../../src/wire/body.js'
import type { ClientConnectionOwner, ClientTimeouts, Transport } from '../../src/wire/client-connection.js'
import type { ResponseHead } from '../../src/wire/downstream.js'
import type { Failure } from '../../src/wire/failure.js'
import { HeaderBlock } from '../../src/wire/header-block.js'
import { until } from '../support/deadline.js'
import { type Frame, type Pair, RawPeer, settings } from '../support/http2-client.js'

const patient: ClientTimeouts = { responseMs: 60_000, bodyIdleMs: 60_000, idleMs: 60_000, tunnelIdleMs: 60_000 }
const limits = { headerBytes: 65_536, headerCount: 256 }

/** What a test may choose. */
export interface RigOptions {
  readonly timeouts?: Partial<ClientTimeouts>
  readonly firstStreamId?: number
  readonly resets?: ResetBounds
  /** The endpoint's first SETTINGS; `silent` says nothing at all. */
  readonly hello?: readonly (readonly [id: number, value: number])[] | 'silent'
}

/** Who owns the connection, and what it was told. */
export class RecordedOwner implements ClientConnectionOwner {
  available = 0
  closed = 0
  readonly answered: number[] = []
  readonly failed: Failure[] = []
  /** Called whenever there is capacity. */
  whenAvailable: (() => void) | undefined

  onAvailable(): void {
    this.available++
    this.whenAvailable?.()
  }

  onClosed(): void {
    this.closed++
  }

  onAnswered(status: number): void {
    this.answered.push(status)
  }

  onFailed(failure: Failure): void {
    this.failed.push(failure)
  }
}

/** The sink of a received body. */
export class RecordedSink implements BodySink {
  readonly chunks: Buffer[] = []
  bytes = 0
  ended: 'no' | 'end' | 'abort' = 'no'
  failure: Failure | undefined
  trailers: Pair[] = []
  isFull = false

  write(chunk: Buffer): boolean {
    assert.equal(this.ended, 'no', 'nothing comes behind the end of a body')
    this.bytes += chunk.length
    if (this.bytes < 1 << 20) this.chunks.push(chunk)
    return !this.isFull
  }

  end(trailers: HeaderBlock | undefined): void {
    assert.equal(this.ended, 'no', 'a body ends once')
    this.ended = 'end'
    if (trailers !== undefined) this.trailers = linesOf(trailers)
  }

  abort(failure: Failure): void {
    assert.equal(this.ended, 'no', 'a body ends once')
    this.ended = 'abort'
    this.failure = failure
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString('latin1')
  }
}

/** A body that the test sends by hand. */
export class HandSource implements BodySource {
  readonly lengthBytes: number
  resumed = 0
  aborted: Failure | undefined
  #sink: BodySink | undefined

  constructor(lengthBytes = unknownLength) {
    this.lengthBytes = lengthBytes
  }

  /** Where it goes to. */
  get sink(): BodySink {
    assert(this.#sink !== undefined, 'the body flows')
    return this.#sink
  }

  flow(sink: BodySink): void {
    this.#sink = sink
  }

  resume(): void {
    this.resumed++
  }

  abort(failure: Failure): void {
    this.aborted = failure
  }
}

/** What one attempt has told. */
export class RecordedAttempt implements AttemptObserver {
  readonly informational: number[] = []
  /** Final calls: exactly one, unless it was cancelled. */
  finals = 0
  status: number | undefined
  lines: Pair[] = []
  body: BodySource | undefined
  readonly sink = new RecordedSink()
  failure: Failure | undefined
  tunnel: Tunnel | undefined
  attempt: Attempt | undefined
  /** Leaves the body where it is. */
  takesBody = true

  onInformational(head: ResponseHead): void {
    assert.equal(this.finals, 0, 'nothing comes behind the final head')
    this.informational.push(head.status)
  }

  onResponse(head: ResponseHead, body: BodySource | undefined): void {
    this.#take(head)
    this.body = body
    if (this.takesBody) body?.flow(this.sink)
  }

  onUpgrade(head: ResponseHead, tunnel: Tunnel): void {
    this.#take(head)
    this.tunnel = tunnel
    tunnel.source.flow(this.sink)
  }

  onFailure(failure: Failure): void {
    this.finals++
    this.failure = failure
  }

  /** Waits for the final call. */
  async final(): Promise<this> {
    await until('the attempt has an outcome', () => this.finals > 0)
    return this
  }

  /** Waits for the end of the answer. */
  async whole(): Promise<this> {
    await this.final()
    if (this.body !== undefined) await until('the body ends', () => this.sink.ended !== 'no')
    return this
  }

  #take(head: ResponseHead): void {
    this.finals++
    this.status = head.status
    this.lines = linesOf(head.headers)
  }
}

/** An endpoint's end of the connection, with the gestures that most tests need. */
export class RawEndpoint extends RawPeer {
  constructor(socket: Socket) {
    super(socket, 'client')
  }

  /** The head of the request on a stream. */
  async request(streamId: number): Promise<Frame> {
    const isHead = (one: Frame) => one.type === FrameType.headers && one.streamId === streamId
    return this.frame(isHead, `a request on stream ${streamId}`)
  }

  /** Answers in one HEADERS frame; without flags a body follows. */
  respond(streamId: number, status: number | string, fields: readonly Pair[] = [], flags = 0): void {
    this.headers(streamId, [[':status', String(status)], ...fields], flags)
  }

  reset(streamId: number, code: number): void {
    this.send(FrameType.rstStream, 0, streamId, uint32Of(code))
  }

  sayGoodbye(lastStreamId: number, code: number = ErrorCode.noError, text = ''): void {
    this.send(FrameType.goaway, 0, 0, Buffer.concat([uint32Of(lastStreamId), uint32Of(code), Buffer.from(text)]))
  }

  /** The code of the GOAWAY that the client says. */
  async farewell(): Promise<number> {
    const frame = await this.frame((one) => one.type === FrameType.goaway, 'a goodbye')
    return readUint32(frame.payload, 4)
  }

  /** All bytes of DATA on a stream so far. */
  received(streamId: number): Buffer {
    const own = this.frames.filter((one) => one.type === FrameType.data && one.streamId === streamId)
    return Buffer.concat(own.map((one) => one.payload))
  }

  hasEnded(streamId: number): boolean {
    const isMessage = (one: Frame) => one.type === FrameType.data || one.type === FrameType.headers
    return this.frames.some((one) => one.streamId === streamId && isMessage(one) && (one.flags & Flag.endStream) !== 0)
  }
}

/** One connection, both of its ends. */
export class Rig {
  readonly owner = new RecordedOwner()
  readonly connection: Http2ClientConnection
  readonly endpoint: RawEndpoint

  constructor(client: Socket, server: Socket, options: RigOptions) {
    this.endpoint = new RawEndpoint(server)
    this.connection = connectionOver(client, this.owner, options)
    if (options.hello !== 'silent') this.endpoint.send(FrameType.settings, 0, 0, settings(...(options.hello ?? [])))
  }

  send(request: Partial<TestRequest> = {}): RecordedAttempt {
    const recorded = new RecordedAttempt()
    recorded.attempt = this.connection.send(outgoing(request), recorded)
    return recorded
  }

  /** Sends a request, and waits until it is there. */
  async ask(request: Partial<TestRequest>, streamId: number): Promise<RecordedAttempt> {
    const recorded = this.send(request)
    await this.endpoint.request(streamId)
    return recorded
  }

  /** Proves that the connection still works. */
  async stillServes(streamId: number): Promise<void> {
    const recorded = await this.ask({}, streamId)
    this.endpoint.respond(streamId, 204, [], Flag.endStream)
    assert.equal((await recorded.final()).status, 204)
  }

  /** Waits until the connection has told its owner that it is gone. */
  async isGone(): Promise<void> {
    await until('the owner hears of the end', () => this.owner.closed > 0)
    assert.equal(this.owner.closed, 1)
    assert.equal(this.connection.capacity, 0)
  }
}

/** What a request is made of here. */
export interface TestRequest {
  readonly method: string
  readonly path: string
  readonly fields: readonly Pair[]
  readonly body: BodySource
  readonly upgrade: string
}

/** A request as forwarding would make it. */
export function outgoing(request: Partial<TestRequest> = {}): OutgoingRequest {
  const headers = new HeaderBlock()
  for (const [name, value] of request.fields ?? []) headers.add(name, value)
  return {
    method: request.method ?? 'GET',
    head: Buffer.alloc(0),
    fields: { scheme: 'http', authority: 'site.test', path: request.path ?? '/', headers },
    body: request.body,
    upgrade: request.upgrade,
  }
}

/** The codec on a connected socket. */
export function connectionOver(socket: Socket, owner: ClientConnectionOwner, options: RigOptions = {}) {
  const transport: Transport = { socket, onBytes: () => undefined }
  socket.on('data', (chunk: Buffer) => transport.onBytes(chunk))
  const { firstStreamId, resets } = options
  const timeouts = { ...patient, ...options.timeouts }
  return new Http2ClientConnection({
    transport,
    timeouts,
    limits,
    owner,
    ...(firstStreamId === undefined ? {} : { firstStreamId }),
    ...(resets === undefined ? {} : { resets }),
  })
}

/** Runs a test over one connection, and closes it. */
export async function withRig(run: (rig: Rig) => Promise<void>, options: RigOptions = {}): Promise<void> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const accepted = once(server, 'connection')
  const client = await connected((server.address() as AddressInfo).port)
  const [socket] = (await accepted) as [Socket]
  socket.setNoDelay(true)
  const rig = new Rig(client, socket, options)
  try {
    await run(rig)
  } finally {
    rig.connection.destroy()
    rig.endpoint.close()
    server.close()
  }
}

/** A connected socket without delay. */
export async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

function uint32Of(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

function linesOf(block: HeaderBlock): Pair[] {
  return Array.from({ length: block.count }, (_, at): Pair => [block.nameOf(at), block.valueOf(at)])
}
