// CertificateStore: which certificate a client gets for the server name it asked for. Used once a handshake.
// A site's client never gets another site's certificate; a name that no site has gets the fallback or an alert.
import type { Certificate, KeyType } from './certificate.js'
import { isValidAt } from './expiry.js'

/** What the choice depends on in a ClientHello. */
export interface ClientAbilities {
  /** Normalised; undefined where the client sent none, or none that is a host name. */
  readonly serverName: string | undefined
  readonly supportsEcdsa: boolean
  readonly supportsRsa: boolean
}

/** The sites' certificates by server name; an empty list is a site that has none that can be used. */
export interface CertificateLookup {
  get(serverName: string): readonly Certificate[] | undefined
}

/** What a store holds. */
export interface CertificateStoreOptions {
  readonly sites: CertificateLookup
  /** For unknown and missing names; undefined answers them with an alert. */
  readonly fallback: Certificate | undefined
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

/** Immutable; a reload makes another one. */
export class CertificateStore {
  readonly #options: CertificateStoreOptions

  constructor(options: CertificateStoreOptions) {
    this.#options = options
  }

  /**
   * The site's certificate whose key type the client supports, a valid one before an expired one, EC before RSA, of two
   * of a kind the one that lasts longer. A client that supports none of them still gets the site's own, and fails for
   * the right reason. The order in which they are configured says nothing. Undefined: alert.
   */
  choose(client: ClientAbilities): Certificate | undefined {
    const { sites, fallback, clock } = this.#options
    const candidates = client.serverName === undefined ? undefined : sites.get(client.serverName)
    const [first, ...others] = candidates ?? []
    if (first === undefined) return fallback
    if (others.length === 0) return first
    const nowMs = clock()
    return others.reduce((best, next) => (isBetter({ next, best, client, nowMs }) ? next : best), first)
  }
}

interface Comparison {
  readonly next: Certificate
  readonly best: Certificate
  readonly client: ClientAbilities
  readonly nowMs: number
}

function isBetter({ next, best, client, nowMs }: Comparison): boolean {
  const lead = preference(next, client, nowMs) - preference(best, client, nowMs)
  if (lead !== 0) return lead > 0
  if (next.notAfterMs !== best.notAfterMs) return next.notAfterMs > best.notAfterMs
  return next.fingerprint256 > best.fingerprint256
}

const keyTypePreference: Record<KeyType, number> = { ec: 2, rsa: 1, ed25519: 0 }

// Support weighs most: a valid certificate that the client cannot use fails for sure, an expired one may be let pass.
function preference(certificate: Certificate, client: ClientAbilities, nowMs: number): number {
  const isValid = isValidAt(certificate, nowMs)
  const isUsable = certificate.contextDefect === undefined && isSupported(certificate.keyType, client)
  return (isUsable ? 8 : 0) + (isValid ? 4 : 0) + keyTypePreference[certificate.keyType]
}

function isSupported(keyType: KeyType, client: ClientAbilities): boolean {
  if (keyType === 'ec') return client.supportsEcdsa
  return keyType === 'rsa' && client.supportsRsa
}
