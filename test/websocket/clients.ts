// WebSocket clients of both wires that look the same to a test: `ws` itself on HTTP/1 over TLS, and `ws` on a stream of HTTP/2 over TLS
// that an extended CONNECT has opened (RFC 8441).
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import { within } from '../support/deadline.js'

const host = 'a.example'
const maxPayload = 64 * 1024 * 1024

/** What a client asks for. */
export interface Wish {
  readonly path?: string
  readonly protocols?: readonly string[]
  /** Whether messages are to be compressed; HTTP/1 alone. */
  readonly perMessageDeflate?: boolean
}

/** How a gateway refused. */
export interface Refused {
  readonly status: number
  readonly body: string
}

/** WebSocket over one wire. */
export interface WebSocketWire {
  readonly name: 'http/1.1' | 'h2'
  /** An open socket, or how it was refused. */
  open(port: number, wish?: Wish): Promise<WebSocket | Refused>
}

/** WebSocket over every wire of clients. */
export const webSocketWires: readonly WebSocketWire[] = [
  { name: 'http/1.1', open: openOnHttp1 },
  { name: 'h2', open: openOnHttp2 },
]

/** The socket, where it was not refused. */
export function opened(outcome: WebSocket | Refused): WebSocket {
  if (outcome instanceof WebSocket) return outcome
  throw new Error(`refused: ${outcome.status} ${outcome.body}`)
}

async function openOnHttp1(
  port: number,
  { path = '/', protocols = [], perMessageDeflate = false }: Wish = {},
): Promise<WebSocket | Refused> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, [...protocols], {
    headers: { host },
    rejectUnauthorized: false,
    perMessageDeflate,
    maxPayload,
  })
  const refused = new Promise<Refused>((resolve) => {
    socket.on('unexpected-response', async (_, response) => {
      let body = ''
      for await (const chunk of response) body += String(chunk)
      resolve({ status: response.statusCode ?? 0, body })
    })
  })
  const open = once(socket, 'open').then(() => socket)
  return await within('the socket', Promise.race([open, refused]))
}

async function openOnHttp2(port: number, { path = '/', protocols = [] }: Wish = {}): Promise<WebSocket | Refused> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  session.on('error', () => undefined)
  if (session.remoteSettings?.enableConnectProtocol !== true)
    await within('the settings', once(session, 'remoteSettings'))
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'https',
    ':authority': host,
    ':path': path,
    'sec-websocket-version': '13',
    ...(protocols.length === 0 ? {} : { 'sec-websocket-protocol': protocols.join(', ') }),
  })
  stream.on('close', () => session.close())
  const [head] = await within('the answer', once(stream, 'response'))
  const status = Number(head[':status'])
  if (status === 200) return onStream(stream, session, head['sec-websocket-protocol'] ?? '')
  let body = ''
  for await (const chunk of stream) body += String(chunk)
  return { status, body }
}

/** What `ws` gives to a socket that its own server has accepted; its types leave it out. */
interface Adoptive {
  _isServer: boolean
  _protocol: string
  setSocket(socket: Duplex, head: Buffer, options: object): void
}

/** What its constructor leaves out without an address. */
const adopted: object = { autoPong: true, closeTimeout: 30_000 }

function onStream(stream: ClientHttp2Stream, session: ClientHttp2Session, protocol: string): WebSocket {
  const socket = new WebSocket(null as never, undefined, adopted)
  const adoptive = socket as unknown as Adoptive
  adoptive._isServer = false
  adoptive._protocol = protocol
  adoptive.setSocket(stream, Buffer.alloc(0), { maxPayload, skipUTF8Validation: false, allowSynchronousEvents: true })
  socket.terminate = () => session.destroy()
  return socket
}
