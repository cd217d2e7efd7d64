// The TLS handshake on a socket whose ClientHello was peeked and whose context is chosen. One TLSSocket, one context:
// without a name callback or a base context no other site's certificate can be sent, and tickets end at the context.

import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { TLSSocket } from 'node:tls'
import type { ClientProof } from '../wire/connection.js'

/** The application protocols there are. */
export type Protocol = 'h2' | 'http/1.1'

/** What answers one ClientHello. */
export interface HandshakeTerms {
  readonly context: SecureContext
  /** Asks the client for a certificate; the handshake completes whatever it shows. Undefined never asks. */
  readonly certificateRequest: CertificateRequest | undefined
}

/** Whose demand a client is asked for a certificate; `context` names its authorities and has no tickets. */
export type CertificateRequest = Pick<ClientProof, 'policyId' | 'trustId'>

/** What decides a handshake. */
export interface HandshakeOptions extends HandshakeTerms {
  /** In our order of preference; a client that offers others is refused, one that offers none or HTTP/1.0 gets HTTP/1.1. */
  readonly protocols: readonly Protocol[]
}

/** How a handshake ended; `reset` also stands for a socket that was destroyed on our side. */
export type HandshakeEnd =
  | {
      readonly kind: 'secure'
      readonly socket: TLSSocket
      readonly protocol: Protocol
      readonly clientProof: ClientProof | undefined
    }
  /** Perhaps after the client's last word: a reset discards what we have not read yet. */
  | { readonly kind: 'reset' }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Speaks TLS on a raw socket that nobody else reads, and settles once. The socket has a lasting error listener, so
 * that an error only closes it; on failure it is destroyed. Keeps no deadline: the caller destroys the raw socket.
 */
export function shakeHands(raw: Socket, options: HandshakeOptions, settle: (end: HandshakeEnd) => void): void {
  const { context, certificateRequest } = options
  const socket = new TLSSocket(raw, {
    isServer: true,
    requestCert: certificateRequest !== undefined,
    // What the client shows is judged by each request: a refusal can be said then, and names its reason.
    rejectUnauthorized: false,
    secureContext: context,
    // A client of HTTP/1.0 may offer nothing but its own name (RFC 7301 §6); whoever speaks HTTP/1.1 answers it.
    ALPNProtocols: [...options.protocols, 'http/1.0'],
  })
  // RFC 5246's renegotiation would let a client change what was agreed on under a live connection.
  socket.disableRenegotiation()

  let settled = false
  const end = (result: HandshakeEnd): void => {
    if (settled) return
    settled = true
    socket.off('end', onLeft)
    if (result.kind !== 'secure') socket.destroy()
    settle(result)
  }
  const onLeft = (): void => end({ kind: 'failed', reason: 'client_gone' })
  const onReset = (): void => end({ kind: 'reset' })
  const onError = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE') onReset()
    else end({ kind: 'failed', reason: failureReason(error) })
    // Outside a tls.Server, Node reports errors of a finished handshake's connection by this event alone and leaves
    // the socket open.
    socket.destroy()
  }
  socket.on('error', onError).on('_tlsError', onError).on('end', onLeft).on('close', onReset)
  socket.once('secure', () => {
    const protocol = socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1'
    end({ kind: 'secure', socket, protocol, clientProof: certificateRequest && proofOf(socket, certificateRequest) })
  })
}

/** More than any chain has; what a client sends beyond it would only be kept. */
const certificatesKeptMax = 8

function proofOf(socket: TLSSocket, request: CertificateRequest): ClientProof {
  const shownAtMs = Date.now()
  const nothing = { ...request, chain: [], verifyError: undefined, shownAtMs }
  // Contexts that ask have neither tickets nor a session cache. Were a session resumed all the same, its certificate
  // would have been proved to somebody else.
  if (socket.isSessionReused()) return nothing
  const chain: Buffer[] = []
  let certificate = socket.getPeerX509Certificate()
  while (certificate !== undefined && chain.length < certificatesKeptMax) {
    chain.push(certificate.raw)
    certificate = certificate.issuerCertificate
  }
  return chain.length === 0 ? nothing : { ...nothing, chain, verifyError: verifyErrorOf(socket) }
}

/** A TLSSocket that no tls.Server owns has OpenSSL's verdict in its handle alone; without one it counts as bad. */
function verifyErrorOf(socket: TLSSocket): string | undefined {
  const { _handle: handle } = socket as unknown as {
    readonly _handle?: { verifyError?(): { readonly code?: string } | null | undefined }
  }
  if (typeof handle?.verifyError !== 'function') return 'UNKNOWN'
  const error = handle.verifyError()
  return error ? (error.code ?? 'UNKNOWN') : undefined
}

/** OpenSSL's own word for what went wrong (`no_shared_cipher`), or ours where it was not TLS. */
function failureReason(error: NodeJS.ErrnoException): string {
  const code = error.code ?? ''
  return code.startsWith('ERR_SSL_') ? code.slice('ERR_SSL_'.length).toLowerCase() : 'tls_error'
}
