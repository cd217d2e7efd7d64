// The request handler behind one plain HTTP/1 listener, without configuration and TLS: the smallest whole data path.
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { RequestHandler } from '../../src/http/handler.js'
import { OpenTunnels } from '../../src/http/open-tunnels.js'
import { defaultRetryBounds, RetryBudget, type RetryPolicy } from '../../src/http/retry.js'
import type { ForwardAction, ListenerView, RedirectAction, SiteAction, VirtualHost } from '../../src/http/routing.js'
import { Http1ServerConnection } from '../../src/http1/server-connection.js'
import { Http2Connection } from '../../src/http2/connection.js'
import { type EndpointAddress, formatEndpoint } from '../../src/net/endpoint-address.js'
import { createHostMap } from '../../src/net/host-map.js'
import type { RequestEntry } from '../../src/telemetry/request-line.js'
import { Endpoint } from '../../src/upstream/endpoint.js'
import type { EndpointIdentity } from '../../src/upstream/endpoint-options.js'
import { type Share, Upstream } from '../../src/upstream/upstream.js'
import type { Connection } from '../../src/wire/connection.js'
import type { ServedConnection, WireLimits, WireTimeouts } from '../../src/wire/downstream.js'
import { defaultHttp2Limits } from './http2-limits.js'

/** Limits and timeouts of a gateway under test; a test changes what it is about. */
export interface GatewayOptions {
  readonly sites: Readonly<Record<string, SiteAction>>
  /** What sites want besides, by their names. */
  readonly policies?: Readonly<Record<string, Partial<VirtualHost>>>
  readonly limits?: Partial<WireLimits>
  readonly timeouts?: Partial<WireTimeouts>
  readonly view?: Partial<ListenerView>
  /** What clients speak; HTTP/1 where nothing is said. */
  readonly protocol?: 'http/1.1' | 'h2'
  /** Certificate and key in PEM; left out, the wire is plain. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

/** Timeouts of an upstream that no test reaches by accident. */
const calmTimeouts = { connectMs: 5_000, responseMs: 60_000, bodyIdleMs: 60_000, idleMs: 4_000, tunnelIdleMs: 60_000 }

/** Forwards to one endpoint. */
export function forwardTo(port: number, timeouts: Partial<typeof calmTimeouts> = {}): ForwardAction {
  return forwardToAll([port], { timeouts })
}

/** Forwards to the first endpoint of those at `ports`, the others are its backups; what is said about retries replaces the default. */
export function forwardToAll(
  ports: readonly number[],
  more: { timeouts?: Partial<typeof calmTimeouts>; retries?: Partial<RetryPolicy> } = {},
): ForwardAction {
  const endpoints = ports.map((port) => endpointOf({ address: loopback(port) }, more))
  const retries = {
    attemptsMax: 2,
    causes: new Set(['connect', 'reset', 502, 503, 504] as const),
    budget: new RetryBudget(defaultRetryBounds, performance.now()),
    ...more.retries,
  }
  return {
    kind: 'forward',
    upstream: new Upstream({ name: 'test', endpoints, shares: backupsOf(endpoints) }),
    via: true,
    retries,
    strippedBytes: 0,
  }
}

/** All but the first one are backups, so that a test knows who is asked first. */
function backupsOf(endpoints: readonly Endpoint[]): ReadonlyMap<Endpoint, Share> {
  return new Map(endpoints.slice(1).map((endpoint) => [endpoint, { weight: 1, isBackup: true }]))
}

/** Forwards to one endpoint that speaks HTTP/2 without TLS. */
export function forwardToHttp2(port: number): ForwardAction {
  return forwardToEndpoint({ address: loopback(port), protocol: 'h2' })
}

/** What an endpoint is; its label is made here. */
type Identity = Omit<EndpointIdentity, 'label'>

/** Forwards to one endpoint, whatever it speaks and wherever it is. */
export function forwardToEndpoint(identity: Identity): ForwardAction {
  const { address, protocol = 'http1' } = identity
  const upstream = new Upstream({ name: 'test', endpoints: [endpointOf(identity)] })
  const scheme = address.kind === 'tcp' && address.tls ? 'https' : 'http'
  return { ...forwardToAll([]), upstream, http2Scheme: protocol === 'http1' ? undefined : scheme }
}

function loopback(port: number): EndpointAddress {
  return { kind: 'tcp', host: '127.0.0.1', port, tls: false }
}

function endpointOf(identity: Identity, { timeouts = {} }: { timeouts?: Partial<typeof calmTimeouts> } = {}): Endpoint {
  return new Endpoint({
    ...identity,
    label: formatEndpoint(identity.address),
    timeouts: { ...calmTimeouts, ...timeouts },
    limits: { headerBytes: 65_536, headerCount: 256 },
  })
}

/** Sends clients to another origin, path and query kept. */
export function redirectTo(to: string): RedirectAction {
  return { kind: 'redirect', to, replacedBytes: 0, status: 308 }
}

/** Answers with a text. */
export function respondWith(body: string): SiteAction {
  return { kind: 'respond', status: 200, contentType: 'text/plain', body: Buffer.from(body) }
}

/** A listening gateway and the entries of its access log. */
export class Gateway {
  readonly entries: RequestEntry[] = []
  readonly connections = new Set<ServedConnection>()
  /** What the connections came over, in the order in which they came. */
  readonly sockets = new Set<Socket>()
  readonly tunnels = new OpenTunnels()
  readonly #server: Server
  #view: ListenerView

  constructor(options: GatewayOptions) {
    this.#view = {
      listener: 'test',
      generation: 1,
      isSecure: true,
      sites: createHostMap(
        Object.entries(options.sites).map(([id, action]) => [
          id,
          { id, action, access: true, ...options.policies?.[id] },
        ]),
      ),
      redirectToHttps: false,
      access: true,
      logQuery: true,
      logHeaders: [],
      heldBodies: { bytesMax: 16_384, chunkedMs: 1000 },
      ...options.view,
    }
    const service = new RequestHandler({
      view: () => this.#view,
      log: { request: (entry) => this.entries.push(snapshotOf(entry)) },
      tunnels: this.tunnels,
    })
    const limits = {
      ...defaultHttp2Limits,
      ...{ headerBytes: 65_536, headerCount: 256, targetBytes: 16_384, pipelined: 16, bodyBytesPerSecondMin: 100 },
      ...options.limits,
    }
    const timeouts = { headersMs: 15_000, bodyIdleMs: 60_000, idleMs: 60_000, ...options.timeouts }
    const accept = (socket: Socket): void => {
      const connection = connectionOf(`${socket.remoteAddress}:${socket.remotePort}`)
      const wire = { socket, connection, service, limits: () => limits, timeouts: () => timeouts }
      const served = options.protocol === 'h2' ? new Http2Connection(wire) : new Http1ServerConnection(wire)
      this.connections.add(served)
      this.sockets.add(socket)
      socket.on('close', () => {
        this.connections.delete(served)
        this.sockets.delete(socket)
      })
    }
    this.#server =
      options.tls === undefined
        ? createServer(accept)
        : createTlsServer({ ...options.tls, ALPNProtocols: [options.protocol ?? 'http/1.1'] }, accept)
  }

  async open(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the gateway is not open')
    return address.port
  }

  /** Serves another view from now on, and returns the one before. */
  change(view: Partial<ListenerView>): ListenerView {
    const before = this.#view
    this.#view = { ...before, ...view }
    return before
  }

  async close(): Promise<void> {
    for (const connection of this.connections) connection.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** The facts of a connection that came over TLS. */
export function connectionOf(peer: string): Connection {
  const peerAddress = peer.slice(0, peer.lastIndexOf(':'))
  return {
    id: 'c1',
    listener: 'test',
    peer,
    peerAddress,
    local: '127.0.0.1:443',
    claimed: null,
    claimedAddress: null,
    claimedBy: null,
    sni: null,
    tlsVersion: 'TLSv1.3',
    clientProof: undefined,
  }
}

const entryKeys = [
  ...['listener', 'vhost', 'host', 'sni', 'protocol', 'tlsVersion', 'method', 'target', 'status', 'reason', 'peer'],
  ...['claimed', 'claimedBy', 'upstream', 'upstreamStatus', 'upstreamMs', 'requestId', 'connectionId', 'generation'],
  ...['durationMs', 'bytesReceived', 'bytesSent', 'headers', 'failedAttempts', 'detail'],
  ...['connectionClaimed', 'connectionClaimedBy', 'claimRefused'],
] as readonly (keyof RequestEntry)[]

/** Getters of an exchange as plain values, since they change with it. */
function snapshotOf(entry: RequestEntry): RequestEntry {
  return Object.fromEntries(entryKeys.map((key) => [key, entry[key]])) as unknown as RequestEntry
}
