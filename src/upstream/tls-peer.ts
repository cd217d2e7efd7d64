// What the certificate of an endpoint says: for verification, for the log, and so that its end can be watched for.
// Used by tls-client.ts. A value: it outlives the connection that it was shown on.
import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { readSubjectNames } from '../tls/subject-names.js'

/** One certificate of a chain: whose, and from when to when it is valid, in milliseconds since the epoch. */
export interface ChainCertificate {
  /** On one line; may be empty. */
  readonly subject: string
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** The certificate that an endpoint has shown. */
export interface PeerCertificate extends ChainCertificate {
  /** DNS names in lower case and canonical IP addresses; never the common name. */
  readonly names: readonly string[]
  readonly issuer: string
  /** Hexadecimal, upper case. */
  readonly serial: string
  /** SHA-256 in upper-case hexadecimal with colons. */
  readonly fingerprint256: string
  /** The issuers that came with it, nearest first. */
  readonly chain: readonly ChainCertificate[]
}

/** More issuers than any chain has; whoever sends more makes no work with them. */
const chainMax = 10

/** Reads the certificate of a complete handshake; a resumed one has none. */
export function readPeerCertificate(socket: TLSSocket): PeerCertificate | undefined {
  const leaf = socket.getPeerX509Certificate()
  if (leaf === undefined) return undefined
  return {
    ...datesOf(leaf),
    names: readSubjectNames(leaf.raw),
    issuer: onOneLine(leaf.issuer),
    serial: leaf.serialNumber,
    fingerprint256: leaf.fingerprint256,
    chain: issuersOf(leaf),
  }
}

function issuersOf(leaf: X509Certificate): readonly ChainCertificate[] {
  const chain: ChainCertificate[] = []
  let issuer = leaf.issuerCertificate
  while (issuer !== undefined && chain.length < chainMax) {
    chain.push(datesOf(issuer))
    issuer = issuer.issuerCertificate
  }
  return chain
}

function datesOf({ subject, validFrom, validTo }: X509Certificate): ChainCertificate {
  return { subject: onOneLine(subject), notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) }
}

// Node gives null or undefined for an empty name, whatever its types say.
function onOneLine(name: string | null | undefined): string {
  return name?.replaceAll('\n', ', ') ?? ''
}
