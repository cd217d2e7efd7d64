// The frames that a proxy could spoil, in a table of our own: whatever their sizes and however they are chopped, the bytes that come
// out of a tunnel are those that went in, in both directions at once.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { after, before, describe, test } from 'node:test'
import { acceptOf } from '../../src/http/websocket-bridge.js'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ScriptedUpstream, type UpstreamConnection } from '../support/scripted-upstream.js'

const handshake =
  'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'
const agreement = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'

const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
const mask = Buffer.from([0x00, 0xff, 0x0d, 0x0a])

/** Who sends: clients mask, servers do not (RFC 6455 §5.1). */
type Sender = 'client' | 'server'

interface FrameParts {
  readonly opcode: number
  readonly payload: Buffer
  readonly isLast?: boolean
  /** Reserved bits, as extensions set them. */
  readonly reserved?: number
}

type Table = Readonly<Record<string, readonly FrameParts[]>>

const frames: Table = {
  ...Object.fromEntries(
    [0, 1, 125, 126, 127, 65_535, 65_536, 65_537].map((size) => [
      `a binary frame of ${size} bytes`,
      [{ opcode: Opcode.binary, payload: Buffer.alloc(size, 'x\0\r\n\r\n') }],
    ]),
  ),
  'a text that is not valid UTF-8': [{ opcode: Opcode.text, payload: Buffer.from([0xc3, 0x28, 0xff]) }],
  'fragments with a ping, a pong and an empty one between them': [
    { opcode: Opcode.text, payload: Buffer.from('one'), isLast: false },
    { opcode: Opcode.ping, payload: Buffer.alloc(125, 'p') },
    { opcode: Opcode.continuation, payload: Buffer.alloc(0), isLast: false },
    { opcode: Opcode.pong, payload: Buffer.alloc(0) },
    { opcode: Opcode.continuation, payload: Buffer.from('two') },
  ],
  'frames that break the rules, which are for the ends to judge': [
    { opcode: 3, payload: Buffer.from('reserved opcode') },
    { opcode: Opcode.text, payload: Buffer.from('reserved bits'), reserved: 0x70 },
    { opcode: Opcode.ping, payload: Buffer.alloc(126), isLast: false },
    { opcode: Opcode.continuation, payload: Buffer.from('of nothing') },
  ],
  'what looks like HTTP': [{ opcode: Opcode.text, payload: Buffer.from('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n') }],
  'a close with a code and a reason': [
    { opcode: Opcode.close, payload: Buffer.concat([Buffer.from([0x03, 0xe8]), Buffer.from('enough')]) },
  ],
}

/** Sizes of the pieces that bytes are written in; by the byte only where there are few. */
const pieceSizes = [1, 7, 1024, 65_536]
const byByteMax = 1000

for (const wire of ['http/1.1', 'h2'] as const) describe(`a tunnel over ${wire} passes`, () => tunnel(wire))

function tunnel(wire: 'http/1.1' | 'h2'): void {
  let upstream: ScriptedUpstream
  let gateway: Gateway
  let client: RawEnd
  let endpoint: UpstreamConnection

  before(async () => {
    upstream = await new ScriptedUpstream(agree).open()
    gateway = await new Gateway({ sites: { 'a.example': forwardTo(upstream.port) }, protocol: wire }).open()
    client = await (wire === 'h2' ? openHttp2(gateway.port) : openHttp1(gateway.port))
    endpoint = await upstream.accepts(1)
  })
  after(async () => {
    client.destroy()
    await gateway.close()
    await upstream.close()
  })

  for (const [name, parts] of Object.entries(frames)) {
    test(name, async () => {
      const [up, down] = [encode(parts, 'client'), encode(parts, 'server')]
      for (const size of pieceSizes) {
        if (size < 8 && up.length > byByteMax) continue
        endpoint.received = ''
        client.received = ''
        await Promise.all([inPieces(up, size, (piece) => client.send(piece)), inPieces(down, size, say)])
        await until('all of it', () => endpoint.received.length >= up.length && client.received.length >= down.length)
        assert.ok(endpoint.received === up && client.received === down, `in pieces of ${size}`)
      }
    })
  }

  function say(piece: string): void {
    endpoint.socket.write(piece, 'latin1')
  }
}

/** The client's end of a tunnel, whose every byte the test decides. */
interface RawEnd {
  /** One character a byte. */
  received: string
  send(bytes: string): void
  destroy(): void
}

async function openHttp1(port: number): Promise<RawEnd> {
  const client = await RawClient.connect(port)
  client.send(handshake)
  await client.receives(/\r\n\r\n$/)
  return client
}

async function openHttp2(port: number): Promise<RawEnd> {
  const session = connect(`http://127.0.0.1:${port}`)
  await once(session, 'remoteSettings')
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'https',
    ':authority': 'a.example',
    ':path': '/',
  })
  const end: RawEnd = {
    received: '',
    send: (bytes) => void stream.write(bytes, 'latin1'),
    destroy: () => session.destroy(),
  }
  stream.on('data', (chunk: Buffer) => {
    end.received += chunk.toString('latin1')
  })
  const [head] = await once(stream, 'response')
  assert.equal(head[':status'], 200)
  return end
}

const agreed = new WeakSet<UpstreamConnection>()

function agree(connection: UpstreamConnection): void {
  if (agreed.has(connection) || !connection.received.endsWith('\r\n\r\n')) return
  agreed.add(connection)
  const key = /^sec-websocket-key: (.*)\r$/im.exec(connection.received)?.[1] ?? ''
  connection.socket.write(`${agreement}Sec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`)
}

/** The frames as one text, one character a byte. */
function encode(parts: readonly FrameParts[], sender: Sender): string {
  return Buffer.concat(parts.map((part) => encodeFrame(part, sender))).toString('latin1')
}

function encodeFrame({ opcode, payload, isLast = true, reserved = 0 }: FrameParts, sender: Sender): Buffer {
  const first = (isLast ? 0x80 : 0) | reserved | opcode
  const length = lengthBytes(payload.length)
  const isMasked = sender === 'client'
  length[0] = (length[0] ?? 0) | (isMasked ? 0x80 : 0)
  const head = Buffer.concat([Buffer.from([first]), length])
  if (!isMasked) return Buffer.concat([head, payload])
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ (mask[index % mask.length] ?? 0))])
}

function lengthBytes(length: number): Buffer {
  if (length < 126) return Buffer.from([length])
  const isShort = length < 65_536
  const bytes = Buffer.alloc(isShort ? 3 : 9)
  bytes[0] = isShort ? 126 : 127
  if (isShort) bytes.writeUInt16BE(length, 1)
  else bytes.writeBigUInt64BE(BigInt(length), 1)
  return bytes
}

/** Each piece in a turn of the event loop of its own. */
async function inPieces(bytes: string, size: number, send: (piece: string) => void): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) {
    send(bytes.slice(at, at + size))
    await new Promise((resolve) => setImmediate(resolve))
  }
}
