// A client, or any end of a connection, that speaks HTTP/2 frame by frame, so that a test can say exactly what no honest peer would.
import { connect, type Socket } from 'node:net'
import { FieldSection } from '../../src/http2/field-section.js'
import { Flag, FrameType, frameHeadBytes, preface, readUint24, readUint31, readUint32 } from '../../src/http2/frames.js'
import { HpackDecoder } from '../../src/http2/hpack-decoder.js'

export type Pair = readonly [name: string, value: string]

/** A frame as it came. */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly payload: Buffer
  /** What the section decodes to that ends with this frame. */
  readonly fields: readonly Pair[]
}

/** A complete answer. */
export interface Answer {
  readonly status: string
  readonly fields: readonly Pair[]
  readonly body: Buffer
  readonly trailers: readonly Pair[]
}

const patienceMs = 20_000
const roomy = { headerBytes: 1 << 20, headerCount: 10_000 }

/** The fields of a plain request. */
export function requestFields(more: readonly Pair[] = [], method = 'GET', path = '/'): Pair[] {
  return [[':method', method], [':scheme', 'https'], [':authority', 'site.test'], [':path', path], ...more]
}

/** Encodes fields as literals that no table remembers. */
export function literals(fields: readonly Pair[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), stringLiteral(name), stringLiteral(value)]))
}

/** One frame as bytes. */
export function frameBytes(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(frameHeadBytes)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

/** 32 bits as bytes. */
export function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4)
  return bytes
}

/** The payload of SETTINGS. */
export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  return Buffer.concat(pairs.map(([id, value]) => Buffer.concat([Buffer.from([id >> 8, id]), uint32(value)])))
}

/** One end of a connection; keeps every frame that came. */
export class RawPeer {
  readonly socket: Socket
  readonly frames: Frame[] = []
  isClosed = false
  /** Gives windows back for the DATA that comes. */
  creditsWindows = true
  readonly #decoder = new HpackDecoder()
  readonly #section = new FieldSection()
  readonly #kind: 'request' | 'response'
  #prefaceBytes: number
  #received: Buffer = Buffer.alloc(0)
  #sectionBytes: Buffer = Buffer.alloc(0)
  #waiters: (() => void)[] = []

  /** `other` is who is at the other end: a client sends its preface first. */
  constructor(socket: Socket, other: 'client' | 'server') {
    this.socket = socket
    this.#kind = other === 'client' ? 'request' : 'response'
    this.#prefaceBytes = other === 'client' ? preface.length : 0
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('close', () => {
      this.isClosed = true
      this.#wake()
    })
    socket.on('error', () => undefined)
  }

  write(bytes: Uint8Array): void {
    this.socket.write(bytes)
  }

  send(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): void {
    this.write(frameBytes(type, flags, streamId, payload))
  }

  /** Sends HEADERS in one frame. */
  headers(streamId: number, fields: readonly Pair[], flags: number = Flag.endStream): void {
    this.send(FrameType.headers, flags | Flag.endHeaders, streamId, literals(fields))
  }

  data(streamId: number, payload: Uint8Array | string, flags = 0): void {
    this.send(FrameType.data, flags, streamId, Buffer.from(payload))
  }

  /** The first frame, come or coming, that fits. */
  async frame(fits: (frame: Frame) => boolean, what: string): Promise<Frame> {
    return this.until(() => this.frames.find(fits), what)
  }

  /** The code of the RST_STREAM on a stream. */
  async resetOf(streamId: number): Promise<number> {
    const frame = await this.frame((one) => one.type === FrameType.rstStream && one.streamId === streamId, 'a reset')
    return readUint32(frame.payload, 0)
  }

  /** The code of the GOAWAY, and that the socket closed after it. */
  async goaway(): Promise<number> {
    const fits = (one: Frame) => one.type === FrameType.goaway && readUint31(one.payload, 0) !== 0x7fffffff
    const frame = await this.frame(fits, 'a goodbye')
    await this.until(() => this.isClosed || undefined, 'the end of the connection')
    return readUint32(frame.payload, 4)
  }

  /** Everything sent so far was read. */
  async ping(): Promise<void> {
    const payload = Buffer.alloc(8)
    payload.writeUInt32BE(this.frames.length, 0)
    payload.writeDoubleBE(performance.now(), 0)
    this.send(FrameType.ping, 0, 0, payload)
    await this.frame((one) => one.type === FrameType.ping && one.payload.equals(payload), 'an answer to a PING')
  }

  /** Waits until `look` finds something. */
  async until<T>(look: () => T | undefined, what: string): Promise<T> {
    const deadlineMs = performance.now() + patienceMs
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      const isOver = this.isClosed || performance.now() > deadlineMs
      if (isOver) throw new Error(`${what} did not come; got ${this.frames.map(summary).join(' ') || 'nothing'}`)
      await this.#event()
    }
  }

  close(): void {
    this.socket.destroy()
  }

  #event(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 50)
      this.#waiters.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #wake(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const prefaceBytes = Math.min(this.#prefaceBytes, this.#received.length)
    this.#prefaceBytes -= prefaceBytes
    this.#received = this.#received.subarray(prefaceBytes)
    for (;;) {
      const { length } = this.#received
      if (length < frameHeadBytes) break
      const end = frameHeadBytes + readUint24(this.#received, 0)
      if (length < end) break
      this.#take(this.#received.subarray(0, end))
      this.#received = this.#received.subarray(end)
    }
    this.#wake()
  }

  #take(bytes: Buffer): void {
    const [type, flags] = [bytes[3] as number, bytes[4] as number]
    const streamId = readUint31(bytes, 5)
    const payload = Buffer.from(bytes.subarray(frameHeadBytes))
    const isSection = type === FrameType.headers || type === FrameType.continuation
    if (isSection) this.#sectionBytes = Buffer.concat([this.#sectionBytes, payload])
    const fields = isSection && flags & Flag.endHeaders ? this.#decode() : []
    this.frames.push({ type, flags, streamId, payload, fields })
    if (type !== FrameType.data || payload.length === 0 || !this.creditsWindows) return
    this.send(FrameType.windowUpdate, 0, 0, uint32(payload.length))
    if (!(flags & Flag.endStream)) this.send(FrameType.windowUpdate, 0, streamId, uint32(payload.length))
  }

  #decode(): Pair[] {
    const payload = this.#sectionBytes
    this.#sectionBytes = Buffer.alloc(0)
    const section = this.#section
    section.begin(this.#kind, payload.length, roomy)
    if (!this.#decoder.decode(payload, 0, payload.length, section)) throw new Error('a section that is not HPACK')
    if (section.fault !== undefined) throw new Error(section.fault)
    const { block } = section
    const lines = Array.from({ length: block.count }, (_, at): Pair => [block.nameOf(at), block.valueOf(at)])
    return [...pseudoFields(section), ...lines]
  }
}

/** A client's end of one connection. */
export class RawClient extends RawPeer {
  constructor(socket: Socket) {
    super(socket, 'server')
  }

  /** Connects and says hello. */
  static async open(port: number, hello: readonly (readonly [number, number])[] = []): Promise<RawClient> {
    const client = await RawClient.connect(port)
    client.write(preface)
    client.send(FrameType.settings, 0, 0, settings(...hello))
    return client
  }

  /** Connects and says nothing. */
  static async connect(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new RawClient(socket)
  }

  /** The whole answer on a stream. */
  async answer(streamId: number): Promise<Answer> {
    const own = () => this.frames.filter((one) => one.streamId === streamId)
    await this.until(() => own().find((one) => endsStream(one)), `the answer on stream ${streamId}`)
    const heads = own().filter((one) => one.type === FrameType.headers)
    const final = heads.find((one) => !statusOf(one).startsWith('1'))
    if (final === undefined) throw new Error(`no head on stream ${streamId}`)
    const body = Buffer.concat(own().flatMap((one) => (one.type === FrameType.data ? [one.payload] : [])))
    const trailers = heads.find((one) => statusOf(one) === '')?.fields ?? []
    return { status: statusOf(final), fields: final.fields, body, trailers }
  }

  /** Proves that the connection still lives: a good request gets its answer. */
  async stillServes(streamId: number): Promise<void> {
    this.headers(streamId, requestFields())
    await this.answer(streamId)
  }
}

function stringLiteral(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const length = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest >>>= 7) length.push(0x80 | (rest & 0x7f))
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}

function pseudoFields(section: FieldSection): Pair[] {
  const { method, scheme, authority, path, protocol, status } = section
  const named = Object.entries({ method, scheme, authority, path, protocol, status })
  return named.flatMap(([name, value]): Pair[] => (value === undefined ? [] : [[`:${name}`, value]]))
}

/** Whether a frame ends its stream. */
export function endsStream(frame: Frame): boolean {
  const isMessage = frame.type === FrameType.data || frame.type === FrameType.headers
  return isMessage && (frame.flags & Flag.endStream) !== 0
}

function statusOf(frame: Frame): string {
  return frame.fields[0]?.[0] === ':status' ? frame.fields[0][1] : ''
}

function summary(frame: Frame): string {
  return `${frame.type}/${frame.flags}@${frame.streamId}:${frame.payload.subarray(0, 60).toString('latin1')}`
}
