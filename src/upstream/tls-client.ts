// TLS to one endpoint: what a handshake offers, and whether its outcome is accepted. Owned by a target; keeps sessions for
// this endpoint alone, because a resumed one shows no certificate: it is worth what its first handshake has proved.

import { isIP } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { TlsContext } from './tls-context.js'
import { type PeerCertificate, readPeerCertificate } from './tls-peer.js'
import { objectionTo } from './tls-verify.js'

/** What TLS to an endpoint is made of. */
export interface TlsClientOptions {
  readonly context: TlsContext
  /** What the certificate must name: a normalised name, which is sent as SNI, or an IP literal without brackets. */
  readonly serverName: string
  readonly protocol: 'http1' | 'h2' | 'auto'
  readonly observer: PeerCertificateObserver
}

/** Hears of the certificates that an endpoint shows. */
export interface PeerCertificateObserver {
  /** It is another one than before at this address, whether accepted or not. */
  onPeerCertificate(certificate: PeerCertificate, address: string): void
}

/** What is spoken on a connection that is accepted, or why it is not. */
export type HandshakeOutcome = { readonly protocol: 'http1' | 'h2' } | { readonly objection: string }

/** One handshake. */
export interface Handshake {
  readonly options: ConnectionOptions
  /** To be asked once, when the handshake is complete; nothing is sent before. */
  judge(socket: TLSSocket): HandshakeOutcome
  /** It came to no end. */
  onBroken(): void
}

/** A session, with the certificate that its full handshake has shown and when. */
interface ProvedSession {
  readonly bytes: Buffer
  readonly peer: PeerCertificate
  readonly provedMs: number
}

/** Renewed certificates are to be seen although sessions can be prolonged for ever. */
const sessionAgeMsMax = 3_600_000

/** Addresses whose certificates are remembered. */
const addressesMax = 64

const offers = { http1: ['http/1.1'], h2: ['h2'], auto: ['h2', 'http/1.1'] } as const

/** TLS to one endpoint, whatever its address. */
export class TlsClient {
  readonly #options: TlsClientOptions
  /** Fingerprint of the last certificate at each address. */
  readonly #shown = new Map<string, string>()
  #session: ProvedSession | undefined

  constructor(options: TlsClientOptions) {
    this.#options = options
  }

  beginHandshake(address: string): Handshake {
    const offered = this.#freshSession()
    return {
      options: this.#connectionOptions(offered),
      judge: (socket) => this.#judge(socket, { address, offered }),
      onBroken: () => {
        this.#session = undefined
      },
    }
  }

  #connectionOptions(offered: ProvedSession | undefined): ConnectionOptions {
    const { context, serverName, protocol } = this.#options
    return {
      secureContext: context.secureContext,
      // RFC 6066 §3: an address is no server name.
      ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
      ALPNProtocols: [...offers[protocol]],
      ...(offered === undefined ? {} : { session: offered.bytes }),
      // `judge` decides, before a byte is sent: it knows more to say, and looks at resumed sessions too (CVE-2026-48934).
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    }
  }

  #judge(socket: TLSSocket, { address, offered }: Attempted): HandshakeOutcome {
    const isResumed = socket.isSessionReused()
    const peer = isResumed ? offered?.peer : readPeerCertificate(socket)
    if (peer !== undefined && !isResumed) this.#report(peer, address)
    const objection = this.#objectionTo(socket, peer) ?? this.#protocolObjection(socket)
    if (objection !== undefined) {
      this.#session = undefined
      return { objection }
    }
    const provedMs = isResumed ? offered?.provedMs : undefined
    if (peer !== undefined) this.#keepSessions(socket, { peer, provedMs: provedMs ?? Date.now() })
    return { protocol: socket.alpnProtocol === 'h2' ? 'h2' : 'http1' }
  }

  #objectionTo(socket: TLSSocket, peer: PeerCertificate | undefined): string | undefined {
    const { context, serverName } = this.#options
    if (!context.isVerified) return undefined
    // A code as text, whatever its type says.
    const chainError = socket.authorized ? undefined : String(socket.authorizationError)
    return objectionTo({ peer, chainError, serverName, nowMs: Date.now() })
  }

  #protocolObjection({ alpnProtocol }: TLSSocket): string | undefined {
    const { protocol } = this.#options
    if (alpnProtocol === null || alpnProtocol === false) {
      return protocol === 'h2' ? 'it did not choose h2 (ALPN), and the upstream is to speak nothing else' : undefined
    }
    if ((offers[protocol] as readonly string[]).includes(alpnProtocol)) return undefined
    return `it chose a protocol that was not offered (ALPN): ${alpnProtocol}`
  }

  #report(peer: PeerCertificate, address: string): void {
    if (this.#shown.get(address) === peer.fingerprint256) return
    const [oldest] = this.#shown.keys()
    if (this.#shown.size >= addressesMax && oldest !== undefined) this.#shown.delete(oldest)
    this.#shown.set(address, peer.fingerprint256)
    this.#options.observer.onPeerCertificate(peer, address)
  }

  #keepSessions(socket: TLSSocket, proved: Omit<ProvedSession, 'bytes'>): void {
    // Until TLS 1.2 the session is there with the handshake; since then tickets come behind it.
    const bytes = socket.getProtocol() === 'TLSv1.3' ? undefined : socket.getSession()
    if (bytes !== undefined) this.#session = { ...proved, bytes }
    socket.on('session', (bytes: Buffer) => {
      this.#session = { ...proved, bytes }
    })
  }

  #freshSession(): ProvedSession | undefined {
    const session = this.#session
    if (session === undefined) return undefined
    const nowMs = Date.now()
    const isFresh = nowMs - session.provedMs < sessionAgeMsMax && nowMs < endOf(session.peer)
    return isFresh ? session : undefined
  }
}

/** What a handshake was begun with. */
interface Attempted {
  readonly address: string
  readonly offered: ProvedSession | undefined
}

/** When the first certificate of the chain ends. */
function endOf(peer: PeerCertificate): number {
  return Math.min(peer.notAfterMs, ...peer.chain.map(({ notAfterMs }) => notAfterMs))
}
