// A listener with sites and an echo behind it, and clients to knock at it with; for the tests of this folder.
import assert from 'node:assert/strict'
import { constants } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import tls from 'node:tls'
import type { Served } from '../../src/listener/entry.js'
import type { HandshakeTerms } from '../../src/listener/handshake.js'
import type { ListenerSettings } from '../../src/listener/listener.js'
import { Listener } from '../../src/listener/listener.js'
import { AddressSet, parseCidr } from '../../src/net/cidr.js'
import type { ClientHello } from '../../src/net/client-hello.js'
import type { Connection } from '../../src/wire/connection.js'
import type { CertificateOptions, CertificatePair } from '../support/certificates.js'
import { makeCertificate } from '../support/certificates.js'

/** A site's certificate and the context made of it. */
export interface Site extends CertificatePair {
  readonly context: tls.SecureContext
}

export async function makeSite(name: string, keyType: CertificateOptions['keyType'] = 'ec'): Promise<Site> {
  const pair = await makeCertificate({ names: [name], commonName: name, keyType: keyType ?? 'ec' })
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION
  return { ...pair, context: tls.createSecureContext({ cert: pair.chain, key: pair.key, secureOptions }) }
}

export interface RigOptions {
  readonly settings?: Partial<ListenerSettings>
  readonly sites?: Readonly<Record<string, { readonly context: tls.SecureContext }>>
  /** What the echo says before it is asked anything. */
  readonly greeting?: string
  readonly choose?: (hello: ClientHello) => tls.SecureContext | undefined
}

/** Everything that happened at the listener, in order. */
export interface Rig {
  readonly listener: Listener
  readonly port: number
  /** Change it to play a reload. */
  settings: ListenerSettings
  readonly served: Connection[]
  readonly failures: { readonly connection: Connection; readonly reason: string }[]
  readonly drained: string[]
}

/** Opens a listener on a free port and closes it with the test. */
export async function openRig(test: TestContext, options: RigOptions = {}): Promise<Rig> {
  const settings: ListenerSettings = {
    tls: true,
    http2: true,
    connectionsMax: 2000,
    handshakeMs: 30_000,
    proxyHeader: undefined,
    allow: undefined,
    ...options.settings,
  }
  const events = { served: [] as Connection[], failures: [] as Rig['failures'], drained: [] as string[] }
  const contextFor = options.choose ?? ((hello) => options.sites?.[hello.serverName ?? '']?.context)
  const choose = (hello: ClientHello): HandshakeTerms | undefined => {
    const context = contextFor(hello)
    return context && { context, certificateRequest: undefined }
  }
  const serve = (socket: net.Socket, connection: Connection, protocol: string): Served => {
    events.served.push(connection)
    if (options.greeting !== undefined) socket.write(options.greeting)
    return echo(socket, `${protocol} ${connection.sni} `, () => events.drained.push(connection.id))
  }
  const listener = new Listener({
    name: 'public',
    host: '127.0.0.1',
    port: 0,
    settings: () => rig.settings,
    hooks: { choose, serve, onHandshakeFailed: (failure) => events.failures.push(failure) },
  })
  await listener.open()
  const rig: Rig = { listener, port: listener.address?.port ?? 0, settings, ...events }
  test.after(() => listener.close(0))
  return rig
}

/** Answers every chunk with a prefix and itself; each chunk counts as a request. */
function echo(socket: net.Socket, prefix: string, onDrain: () => void): Served {
  const served = { requests: 0, drain: () => {}, destroy: () => socket.destroy() }
  served.drain = () => {
    onDrain()
    socket.end()
  }
  socket.on('data', (chunk) => {
    served.requests += 1
    socket.write(prefix + chunk.toString('latin1'))
  })
  socket.on('end', () => socket.end())
  return served
}

/** A set of these ranges. */
export function addressSet(...ranges: readonly string[]): AddressSet {
  return new AddressSet(
    ranges.map((range) => {
      const parsed = parseCidr(range)
      assert.ok('value' in parsed)
      return parsed.value
    }),
  )
}

/** Connects without TLS. The socket never throws; what it receives is gathered in `received`. */
export async function connectRaw(rig: Rig): Promise<{ socket: net.Socket; received: () => Buffer }> {
  const socket = net.connect({ host: '127.0.0.1', port: rig.port, allowHalfOpen: true }).on('error', () => {})
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  await once(socket, 'connect')
  return { socket, received: () => Buffer.concat(chunks) }
}

/** Connects with TLS and trusts anyone; rejects with the client's error. */
export async function connectTls(rig: Rig, options: tls.ConnectionOptions = {}): Promise<tls.TLSSocket> {
  const socket = tls.connect({ host: '127.0.0.1', port: rig.port, rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  socket.on('error', () => {})
  return socket
}

/** Says something and returns what comes back. */
export async function ask(socket: net.Socket, text: string): Promise<string> {
  socket.write(text)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString('latin1')
}

/** Waits until the other side has closed, gently or not. */
export async function ended(socket: net.Socket): Promise<void> {
  if (socket.readableEnded || socket.destroyed) return
  // Not events.once, which a reset would make reject.
  await new Promise<void>((resolve) => socket.once('end', () => resolve()).once('close', () => resolve()))
}

/** The error a TLS client ends with. */
export async function tlsErrorOf(rig: Rig, options: tls.ConnectionOptions): Promise<string> {
  try {
    const socket = await connectTls(rig, options)
    socket.destroy()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
  return 'none'
}

/** Waits until something is so; the deadline is there for a broken build only. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!condition()) {
    assert.ok(performance.now() < deadline, `still waiting until ${what}`)
    await delay(5)
  }
}

/** Waits until no connection is open, and checks that every accepted one has had exactly one end. */
export async function assertAllGone(rig: Rig, withRequest: number): Promise<void> {
  const { counters } = rig.listener
  await until(() => counters.open === 0, 'all connections are closed')
  await turn()
  assert.equal(counters.accepted, withRequest + counters.handshakesFailed + counters.withoutRequest)
}

/** The bytes of a ClientHello for a name, as node:tls sends it. */
export async function helloBytes(options: tls.ConnectionOptions): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const client = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }).on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [net.Socket]
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  assert.equal(bytes.length, 5 + bytes.readUInt16BE(3), 'the hello came in one piece')
  return bytes
}
