// Endpoints of every wire behind one face: Node's own servers, whose listeners are the same for HTTP/1 and HTTP/2.
import { once } from 'node:events'
import { createServer as createHttp1Server, type RequestListener } from 'node:http'
import { createServer as createHttp2Server, createSecureServer as createHttp2TlsServer } from 'node:http2'
import { createServer as createHttp1TlsServer } from 'node:https'
import type { Server, Socket } from 'node:net'
import type { ForwardAction } from '../../src/http/routing.js'
import type { EndpointAddress } from '../../src/net/endpoint-address.js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'
import { forwardToEndpoint } from '../support/gateway.js'
import { portOf } from '../support/port.js'
import { trusting } from '../support/trust.js'
import { Workspace } from '../support/workspace.js'

/** Answers requests of any wire; HTTP/2 comes through Node's compatible interface. */
export type EndpointListener = RequestListener

/** One endpoint that listens. */
export interface OpenEndpoint {
  readonly action: ForwardAction
  /** Ends every connection, and listens no more. */
  close(): Promise<void>
}

/** A wire between the gateway and endpoints. */
export interface EndpointWire {
  readonly name: string
  readonly protocol: 'http1' | 'h2'
  open(listener: EndpointListener): Promise<OpenEndpoint>
}

const serverName = 'inside.example'
const heads = { maxHeaderSize: 131_072 }
const manyLines = { maxHeaderListPairs: 512, settings: { maxHeaderListSize: 131_072 } }

const authority = makeAuthority()

async function secrets(): Promise<{ cert: string; key: string }> {
  const { chain, key } = await makeCertificate({ names: [serverName], issuer: await authority })
  return { cert: chain, key }
}

/** Node's types know no listener that is for both. */
function asHttp2(listener: EndpointListener): Parameters<typeof createHttp2Server>[1] {
  return listener as unknown as Parameters<typeof createHttp2Server>[1]
}

const plain = (name: string, protocol: EndpointWire['protocol'], make: (listener: EndpointListener) => Server) => ({
  name,
  protocol,
  open: async (listener: EndpointListener) => await opened(make(listener), { protocol, isSecure: false }),
})

const secured = (
  name: string,
  protocol: EndpointWire['protocol'],
  make: (listener: EndpointListener, secrets: { cert: string; key: string }) => Server,
) => ({
  name,
  protocol,
  open: async (listener: EndpointListener) =>
    await opened(make(listener, await secrets()), { protocol, isSecure: true }),
})

const onSocket: EndpointWire = {
  name: 'http/1.1 on a Unix socket',
  protocol: 'http1',
  open: async (listener) => {
    const workspace = new Workspace()
    const path = workspace.path('endpoint.sock')
    const server = createHttp1Server(heads, listener).listen(path)
    await once(server, 'listening')
    const action = forwardToEndpoint({ address: { kind: 'unix', path } })
    const close = closing(server)
    return { action, close: () => close().then(() => workspace.remove()) }
  },
}

/** Every wire that endpoints speak. */
export const endpointWires: readonly EndpointWire[] = [
  plain('http/1.1', 'http1', (listener) => createHttp1Server(heads, listener)),
  secured('http/1.1 over TLS', 'http1', (listener, secrets) =>
    createHttp1TlsServer({ ...heads, ...secrets }, listener),
  ),
  plain('h2c', 'h2', (listener) => createHttp2Server(manyLines, asHttp2(listener))),
  secured('h2 over TLS', 'h2', (listener, secrets) =>
    createHttp2TlsServer({ ...manyLines, ...secrets }, asHttp2(listener)),
  ),
  onSocket,
]

async function opened(
  server: Server,
  { protocol, isSecure }: { protocol: EndpointWire['protocol']; isSecure: boolean },
): Promise<OpenEndpoint> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address: EndpointAddress = { kind: 'tcp', host: '127.0.0.1', port: portOf(server), tls: isSecure }
  const tls = isSecure ? { tls: trusting((await authority).cert), serverName } : {}
  return { action: forwardToEndpoint({ address, protocol, ...tls }), close: closing(server) }
}

function closing(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('close', () => sockets.delete(socket))))
  return async () => {
    server.close()
    for (const socket of sockets) socket.destroy()
    await once(server, 'close')
  }
}
