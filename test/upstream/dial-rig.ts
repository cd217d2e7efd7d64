// Dials real servers for the tests: what a dial came to, what its target heard, and servers that are closed with the test.
import { once } from 'node:events'
import { createServer as createPlainServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls'
import type { EndpointAddress } from '../../src/net/endpoint-address.js'
import { Dial, type DialOptions } from '../../src/upstream/dial.js'
import { type LookUp, Lookups } from '../../src/upstream/resolve-lookups.js'
import type { LookupPace } from '../../src/upstream/resolve-name.js'
import { makeTlsContext, type TlsContext, type TlsSettings } from '../../src/upstream/tls-context.js'
import type { PeerCertificate } from '../../src/upstream/tls-peer.js'
import type { EstablishedTransport } from '../../src/upstream/transport.js'
import { DialTarget, type TargetOptions } from '../../src/upstream/transport-target.js'
import type { Failure } from '../../src/wire/failure.js'
import { until, within } from '../support/deadline.js'
import { portOf } from '../support/port.js'

/** What a dial came to. */
export type Outcome =
  | { readonly transport: EstablishedTransport; readonly failure?: undefined }
  | { readonly failure: Failure; readonly transport?: undefined }

/** A generous time for a test that does not mean to reach it. */
const connectMs = 15_000

/** What a test says of its dial; `onEstablished` is called as a codec would be, before anything is read. */
export type TestDial = Partial<DialOptions> & { readonly onEstablished?: (transport: EstablishedTransport) => void }

/** Dials and waits for the end. */
export function dial(target: DialTarget, { onEstablished, ...more }: TestDial = {}): Promise<Outcome> {
  const outcome = new Promise<Outcome>((resolve) => {
    const observer = {
      onConnected: (transport: EstablishedTransport) => {
        onEstablished?.(transport)
        resolve({ transport })
      },
      onFailure: (failure: Failure) => resolve({ failure }),
    }
    new Dial({ target, connectMs, ...more }, observer)
  })
  return within('the dial ends', outcome)
}

/** The transport of a dial that must succeed, closed with the test. */
export async function established(
  context: TestContext,
  target: DialTarget,
  more: Partial<DialOptions> = {},
): Promise<EstablishedTransport> {
  const { transport, failure } = await dial(target, more)
  if (transport === undefined) throw new Error(`${failure.code}: ${failure.detail}`)
  transport.socket.on('error', () => undefined)
  context.after(() => transport.socket.destroy())
  return transport
}

/** The failure of a dial that must not succeed. */
export async function failing(target: DialTarget, more: Partial<DialOptions> = {}): Promise<Failure> {
  const { transport, failure } = await dial(target, more)
  if (failure !== undefined) return failure
  transport.socket.destroy()
  throw new Error('the dial has succeeded')
}

/** A target that remembers what it hears. */
export interface HeardTarget {
  readonly target: DialTarget
  readonly addresses: (readonly string[])[]
  readonly certificates: { readonly certificate: PeerCertificate; readonly address: string }[]
  isInUse: boolean
}

/** What a test says of its target. */
export type TestTarget = Partial<Omit<TargetOptions, 'address' | 'observer' | 'lookups'>> & {
  readonly address: EndpointAddress
  readonly lookUp?: LookUp
  readonly pace?: LookupPace
}

/** A target that is closed with the test. */
export function heardTarget(context: TestContext, { lookUp, ...options }: TestTarget): HeardTarget {
  const heard = { addresses: [] as (readonly string[])[], certificates: [] as HeardTarget['certificates'] }
  const observer = {
    isInUse: () => whole.isInUse,
    onAddresses: (addresses: readonly string[]) => void heard.addresses.push(addresses),
    onPeerCertificate: (certificate: PeerCertificate, address: string) =>
      void heard.certificates.push({ certificate, address }),
  }
  const lookups = new Lookups(lookUp === undefined ? {} : { lookUp })
  const target = new DialTarget({ protocol: 'http1', ...options, lookups, observer })
  const whole: HeardTarget = { target, ...heard, isInUse: false }
  context.after(() => target.close())
  return whole
}

/** The target alone. */
export function targetOf(context: TestContext, options: TestTarget): DialTarget {
  return heardTarget(context, options).target
}

/** `http://host:port`. */
export function plainAddress(port: number, host = '127.0.0.1'): EndpointAddress {
  return { kind: 'tcp', host, port, tls: false }
}

/** `https://host:port`. */
export function tlsAddress(port: number, host = '127.0.0.1'): EndpointAddress {
  return { kind: 'tcp', host, port, tls: true }
}

/** Settings that trust `ca` alone. */
export function trusting(ca: string, more: Partial<TlsSettings> = {}): TlsContext {
  return contextOf({ ca: { path: 'ca.pem', text: ca }, client: undefined, ...more })
}

/** Settings that must be usable. */
export function contextOf(settings: Partial<TlsSettings>): TlsContext {
  const made = makeTlsContext({ ca: undefined, client: undefined, verify: true, minVersion: 'TLSv1.2', ...settings })
  if ('secureContext' in made) return made
  throw new Error(made.map(({ message }) => message).join('; '))
}

/** A server with the connections that it has accepted. */
export interface TestServer<Kind extends Socket> {
  readonly port: number
  readonly sockets: Kind[]
  /** Connections that are open at this moment, handshakes included. */
  readonly openCount: () => Promise<number>
  /** Takes a connection that another server has accepted. */
  readonly adopt: (socket: Socket) => void
}

/** Listens on a port of its own, or where it is said, until the test ends. */
export async function plainServer(
  context: TestContext,
  onSocket: (socket: Socket) => void = () => undefined,
  place: { readonly host?: string; readonly port?: number; readonly path?: string } = {},
): Promise<TestServer<Socket>> {
  const sockets: Socket[] = []
  const server = createPlainServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    onSocket(socket)
  })
  const listening = place.path === undefined ? { port: 0, host: '127.0.0.1', ...place } : { path: place.path }
  return opened(context, { server, listening, sockets })
}

/** The same behind TLS; `onSocket` hears of complete handshakes. */
export async function tlsServer(
  context: TestContext,
  options: TlsOptions,
  onSocket: (socket: TLSSocket) => void = () => undefined,
): Promise<TestServer<TLSSocket>> {
  const sockets: TLSSocket[] = []
  const server = createTlsServer(options, (socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    onSocket(socket)
  })
  return opened(context, { server, listening: { port: 0, host: '127.0.0.1' }, sockets })
}

interface Opening<Kind extends Socket> {
  readonly server: Server
  readonly listening: { readonly port: number; readonly host: string } | { readonly path: string }
  readonly sockets: Kind[]
}

async function opened<Kind extends Socket>(context: TestContext, opening: Opening<Kind>): Promise<TestServer<Kind>> {
  const { server, listening, sockets } = opening
  const accepted = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    accepted.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => accepted.delete(socket))
  })
  server.listen(listening)
  await once(server, 'listening')
  context.after(() => {
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  return {
    port: 'path' in listening ? 0 : portOf(server),
    sockets,
    openCount: () => countOf(server),
    adopt: (socket) => server.emit('connection', socket),
  }
}

function countOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

/** Waits until a server has so many open connections. */
export async function hasOpen(server: TestServer<Socket>, count: number): Promise<void> {
  let open = -1
  const ask = async () => {
    open = await server.openCount()
  }
  await ask()
  await until(`${count} connections are open`, () => {
    void ask()
    return open === count
  })
}

/** A port of 127.0.0.1 on which nobody listens. */
export async function deadPort(): Promise<number> {
  const server = createPlainServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = portOf(server)
  server.close()
  await once(server, 'close')
  return port
}

/** Everything that a transport reads, as text. */
export function reading(transport: EstablishedTransport): { text: string } {
  const read = { text: '' }
  transport.onBytes = (chunk) => {
    read.text += chunk.toString('latin1')
  }
  return read
}
