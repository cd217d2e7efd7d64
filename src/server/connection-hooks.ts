// What becomes of the connections of one listener: which certificate answers a hello, which codec takes the socket.
// Everything is looked up in the snapshot that serves at that moment. Used by the server.
import type { Socket } from 'node:net'
import { RequestHandler } from '../http/handler.js'
import type { OpenTunnels } from '../http/open-tunnels.js'
import { Http1ServerConnection } from '../http1/server-connection.js'
import { Http2Connection } from '../http2/connection.js'
import type { Served } from '../listener/entry.js'
import type { HandshakeTerms } from '../listener/handshake.js'
import type { HandshakeFailure } from '../listener/handshake-failures.js'
import type { ListenerHooks } from '../listener/listener.js'
import type { ClientHello } from '../net/client-hello.js'
import type { Log } from '../telemetry/log.js'
import type { ContextCache } from '../tls/context-cache.js'
import type { TicketKeys } from '../tls/ticket-keys.js'
import type { Connection } from '../wire/connection.js'
import type { ListenerPlan } from './snapshot.js'

/** What the hooks ask the server for, anew each time. */
export interface HookSources {
  readonly plan: () => ListenerPlan
  readonly log: () => Log
  readonly ticketKeys: TicketKeys
  readonly contexts: ContextCache
  readonly tunnels: OpenTunnels
  readonly onHandshakeFailed: (failure: HandshakeFailure) => void
}

/** The hooks of one listener. */
export function connectionHooks(sources: HookSources): ListenerHooks {
  const service = new RequestHandler({
    view: () => sources.plan().view,
    log: { request: (entry) => sources.log().request(entry) },
    tunnels: sources.tunnels,
  })
  return {
    choose: (hello) => termsFor(hello, sources),
    serve: (socket, connection, protocol) => serve({ socket, connection, protocol, service }, sources),
    onHandshakeFailed: ({ connection, reason }) => {
      const { listener, sni, peer, claimed } = connection
      sources.onHandshakeFailed({ listener, sni, peer, claimed, reason })
    },
  }
}

interface Accepted {
  readonly socket: Socket
  readonly connection: Connection
  readonly protocol: 'h2' | 'http/1.1'
  readonly service: RequestHandler
}

function serve({ socket, connection, protocol, service }: Accepted, { plan }: HookSources): Served {
  const options = { socket, connection, service, limits: () => plan().limits, timeouts: () => plan().timeouts }
  if (protocol === 'http/1.1') return new Http1ServerConnection(options)
  return new Http2Connection({ ...options, origins: plan().origins?.payloadFor(connection.sni) })
}

function termsFor(hello: ClientHello, { plan, log, ticketKeys, contexts }: HookSources): HandshakeTerms | undefined {
  const { certificates, handshakeFor, limits } = plan()
  const certificate = certificates.choose(hello)
  if (certificate === undefined) return undefined
  const wasRefused = certificate.contextDefect !== undefined
  const { terms, certificateRequest } = handshakeFor(hello.serverName)
  const context = certificate.secureContext(terms, ticketKeys)
  contexts.touch(certificate, limits.tlsContexts)
  const defect = certificate.contextDefect
  if (defect !== undefined && !wasRefused) {
    log().error('certificate_defect', defect.message, { certificate: certificate.certFile, ...defect })
  }
  return context && { context, certificateRequest }
}
