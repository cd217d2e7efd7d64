// A TLS server that serves what a CertificateStore chooses, and clients of limited abilities. Used by the tests here.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { PeerCertificate, SecureContext, TLSSocket } from 'node:tls'
import { connect, createServer } from 'node:tls'
import type { Certificate } from '../../src/tls/certificate.js'
import { contextOptions, plainTerms } from '../../src/tls/context-options.js'

/** What a client of a test can and wants. */
export interface ProbeClient {
  readonly servername?: string
  readonly version?: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'
  /** OpenSSL's list of signature algorithms; what is left out cannot be used by the server's certificate. */
  readonly sigalgs?: string
  readonly ciphers?: string
  readonly trusts?: string
}

/** What the client met: the leaf's fingerprint and what was agreed on. */
export interface ProbeResult {
  readonly fingerprint256: string
  readonly protocol: string | null
  readonly cipher: string
  /** Undefined where the client accepts the chain and the name. */
  readonly verifyError: string | undefined
}

/** Makes one handshake with a server that serves `certificate`; rejects where the handshake fails. */
export async function probe(certificate: Certificate | undefined, client: ProbeClient): Promise<ProbeResult> {
  const server = createServer({
    ...contextOptions(plainTerms, ''),
    SNICallback: (_name, done) => done(null, certificate?.secureContext() as SecureContext),
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await handshake((server.address() as AddressInfo).port, client)
  } finally {
    server.close()
  }
}

async function handshake(port: number, client: ProbeClient): Promise<ProbeResult> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername: client.servername ?? 'site.example',
    rejectUnauthorized: false,
    ...(client.version === undefined ? {} : { minVersion: client.version, maxVersion: client.version }),
    ...(client.sigalgs === undefined ? {} : { sigalgs: client.sigalgs }),
    ...(client.ciphers === undefined ? {} : { ciphers: client.ciphers }),
    ...(client.trusts === undefined ? {} : { ca: [client.trusts] }),
  })
  try {
    await once(socket, 'secureConnect')
    return resultOf(socket)
  } finally {
    socket.destroy()
  }
}

function resultOf(socket: TLSSocket): ProbeResult {
  const peer: PeerCertificate = socket.getPeerCertificate()
  return {
    fingerprint256: peer.fingerprint256,
    protocol: socket.getProtocol(),
    cipher: socket.getCipher().name,
    verifyError: socket.authorized ? undefined : String(socket.authorizationError),
  }
}
