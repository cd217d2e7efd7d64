// On what terms handshakes are made: versions, ciphers, and whether clients are asked for a certificate. A certificate has
// one context for each terms that it is used on; nothing of a session passes from one context to another.

import { constants, createHash } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import { type CipherSuite, cipherSuites } from '../net/cipher-suites.js'
import type { ClientTrust } from './client-trust.js'

/** The versions of TLS that a listener or a site may begin with. */
export type MinVersion = 'TLSv1.2' | 'TLSv1.3'

/** What a context is made for beside its certificate. */
export interface ContextTerms {
  /** Equal for equal terms. */
  readonly id: string
  readonly minVersion: MinVersion
  readonly ciphers: readonly CipherSuite[]
  /** Whose certificates are asked for and verified; undefined asks for none. */
  readonly clientTrust: ClientTrust | undefined
}

/** Terms with their id. */
export function contextTerms({ minVersion, ciphers, clientTrust }: Omit<ContextTerms, 'id'>): ContextTerms {
  const id = [minVersion, ...ciphers, clientTrust?.id ?? 'asks nobody'].join(' ')
  return { id, minVersion, ciphers, clientTrust }
}

/** TLS 1.2 or newer, all ciphers, no client certificates. */
export const plainTerms = contextTerms({ minVersion: 'TLSv1.2', ciphers: cipherSuites, clientTrust: undefined })

/** What a context of the certificate with this fingerprint is made with on these terms, its tickets left to who has keys. */
export function contextOptions(
  { id, minVersion, ciphers, clientTrust }: ContextTerms,
  fingerprint256: string,
): SecureContextOptions {
  const options = {
    minVersion,
    ciphers: ciphers.join(':'),
    honorCipherOrder: false,
    // OpenSSL takes no session back whose id context is another: one for each certificate and terms.
    sessionIdContext: createHash('sha256').update(`${fingerprint256} ${id}`).digest('hex').slice(0, 32),
  }
  if (clientTrust === undefined) return options
  // A certificate counts where it was shown in this very handshake. Whoever could resume, or renegotiate, would bring one
  // of another time or of another site (CVE-2025-23419, CVE-2025-68121, CVE-2026-123872).
  const secureOptions = constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION
  return { ...options, secureOptions, ca: clientTrust.authorities.map(({ x509 }) => x509.toString()) }
}
