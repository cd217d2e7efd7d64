// Whether the certificate of an endpoint is accepted, and in words why not. Pure; used by tls-client.ts and transport.ts.
// The chain is OpenSSL's verdict; the name is ours, on every connection, because runtimes skip it on resumed sessions.
import { isIP } from 'node:net'
import { canonicalAddress } from '../tls/subject-names.js'
import type { PeerCertificate } from './tls-peer.js'

/** What is to be judged. */
export interface PeerEvidence {
  /** Undefined: the endpoint has shown none. */
  readonly peer: PeerCertificate | undefined
  /** OpenSSL's code for what is wrong with the chain. */
  readonly chainError: string | undefined
  /** A normalised name, or an IP literal without brackets. */
  readonly serverName: string
  readonly nowMs: number
}

/** Names that an objection lists; certificates with more are cut short there. */
const namesToldMax = 6

/** Why the certificate is not accepted; undefined where it is. */
export function objectionTo({ peer, chainError, serverName, nowMs }: PeerEvidence): string | undefined {
  if (peer === undefined) return 'it has shown no certificate'
  if (chainError !== undefined) return chainObjection(peer, chainError, nowMs)
  if (isNamed(peer.names, serverName)) return undefined
  return `its certificate is not for ${serverName}: it names ${listed(peer.names)}`
}

/**
 * Whether one of the names stands for the server: exactly, or as a wildcard for its first label. RFC 9525 §6.3, and
 * stricter where every client is: no wildcard right below a top-level domain. An address is only ever named exactly.
 */
export function isNamed(names: readonly string[], serverName: string): boolean {
  if (isIP(serverName) !== 0) return names.includes(canonicalAddress(serverName))
  if (names.includes(serverName)) return true
  const firstDot = serverName.indexOf('.')
  const parent = serverName.slice(firstDot)
  return firstDot > 0 && parent.indexOf('.', 1) !== -1 && names.includes(`*${parent}`)
}

/** Why a handshake came to no end, in words. */
export function handshakeError(error: (Error & { code?: string; reason?: string }) | undefined): string {
  const code = error?.code ?? ''
  if (error === undefined || code === 'ECONNRESET' || code === 'EPIPE') return 'it closed during the TLS handshake'
  const [, meaning] = handshakeMeanings.find(([ending]) => code.endsWith(ending)) ?? []
  return `${meaning ?? `the TLS handshake failed: ${error.reason ?? error.message}`} (${code})`
}

// By the end of the code: how it begins has changed from one OpenSSL to the next.
const handshakeMeanings: readonly (readonly [ending: string, meaning: string])[] = [
  ['_WRONG_VERSION_NUMBER', 'it does not speak TLS'],
  ['_PACKET_LENGTH_TOO_LONG', 'it does not speak TLS'],
  ['_UNSUPPORTED_PROTOCOL', 'it speaks no version of TLS from minVersion on'],
  ['_ALERT_PROTOCOL_VERSION', 'it speaks no version of TLS from minVersion on'],
  ['_NO_APPLICATION_PROTOCOL', 'it speaks none of the protocols that were offered (ALPN)'],
  ['_UNRECOGNIZED_NAME', 'it does not know the server name'],
  ['_ALERT_HANDSHAKE_FAILURE', 'it refused the handshake; does it want a client certificate?'],
  ['_ALERT_BAD_CERTIFICATE', 'it does not accept the client certificate'],
  ['_ALERT_CERTIFICATE_EXPIRED', 'it says that the client certificate has expired'],
  ['_ALERT_UNKNOWN_CA', 'it does not know who issued the client certificate'],
]

const issuerUnknown = 'is issued by none of the trusted authorities, or an intermediate is not sent'

const chainMeanings: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed and not among the trusted ones',
  SELF_SIGNED_CERT_IN_CHAIN: 'comes from a root that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: issuerUnknown,
  UNABLE_TO_GET_ISSUER_CERT: issuerUnknown,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: issuerUnknown,
  INVALID_PURPOSE: 'is not for servers (extended key usage)',
  INVALID_CA: 'is issued by a certificate that is no authority',
  CERT_SIGNATURE_FAILURE: 'has a signature that is not its issuer’s',
  CERT_REVOKED: 'is revoked',
}

function chainObjection(peer: PeerCertificate, code: string, nowMs: number): string {
  if (code === 'CERT_HAS_EXPIRED') return expired(peer, nowMs)
  const issuer = `its certificate, issued by ${peer.issuer === '' ? 'an authority without a name' : peer.issuer},`
  if (code === 'CERT_NOT_YET_VALID') {
    return `its certificate is not valid before ${dateOf(peer.notBeforeMs)} (${code}); is the clock right?`
  }
  return `${issuer} ${chainMeanings[code] ?? 'is not accepted'} (${code})`
}

function expired(peer: PeerCertificate, nowMs: number): string {
  const ended = [peer, ...peer.chain].find(({ notAfterMs }) => notAfterMs < nowMs)
  if (ended === undefined) return 'a certificate above its own has expired (CERT_HAS_EXPIRED)'
  const which = ended === peer ? 'its certificate' : `the certificate of ${ended.subject} in its chain`
  return `${which} expired on ${dateOf(ended.notAfterMs)} (CERT_HAS_EXPIRED)`
}

function dateOf(timeMs: number): string {
  return Number.isNaN(timeMs) ? 'an unreadable date' : new Date(timeMs).toISOString()
}

// Names come from the other side: they are cut, and what is not printable is escaped by the log.
function listed(names: readonly string[]): string {
  if (names.length === 0) return 'nobody (the common name does not count)'
  const told = names.slice(0, namesToldMax).join(', ')
  return names.length > namesToldMax ? `${told} and ${names.length - namesToldMax} more` : told
}
