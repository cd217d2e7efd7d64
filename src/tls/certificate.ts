// Certificate: one proved pair of certificate and key, as a value. Chosen by CertificateStore, watched by ExpiryWatch.
// The key never leaves it but into the TLS context.
import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import { createSecureContext } from 'node:tls'
import { type ContextTerms, contextOptions, plainTerms } from './context-options.js'
import { type CertificateDefect, defect } from './defects.js'
import { RecentTexts } from './recent-texts.js'
import { canonicalAddress } from './subject-names.js'
import type { TicketKeys } from './ticket-keys.js'

/** The kinds of key that TLS clients can be expected to accept. */
export type KeyType = 'rsa' | 'ec' | 'ed25519'

/** What certificate-parse.ts has found out about a pair: plain values, which another thread may have made. */
export interface CertificateFacts {
  readonly certFile: string
  readonly keyFile: string
  /** DNS names in lower case (wildcards as they are) and canonical IP addresses; never the common name. */
  readonly names: readonly string[]
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Hexadecimal, upper case. */
  readonly serial: string
  /** SHA-256 in upper-case hexadecimal with colons. */
  readonly fingerprint256: string
  /** The issuer's name on one line. */
  readonly issuer: string
  readonly keyType: KeyType
  /** What an authority's renewal information (ARI) is asked by, where the certificate names its issuer's key. */
  readonly renewalId: string | undefined
  /** PEM blocks as they are sent, leaf first. */
  readonly chain: readonly string[]
  /** The authorities of the sent chain, roots left out, nearest first. */
  readonly intermediates: readonly IntermediateFacts[]
  /** Defects that do not keep the pair from being served. */
  readonly warnings: readonly CertificateDefect[]
}

/** An authority between a leaf and its root. */
export type IntermediateFacts = Pick<CertificateFacts, 'notBeforeMs' | 'notAfterMs' | 'serial' | 'fingerprint256'> & {
  /** Its name on one line. */
  readonly subject: string
}

/** A pair that may serve. */
export interface ProvedPair {
  readonly facts: CertificateFacts
  readonly keyPem: string
}

/** An immutable, proved pair; what is known about it is described at CertificateFacts. */
export class Certificate implements CertificateFacts {
  readonly certFile: string
  readonly keyFile: string
  readonly names: readonly string[]
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly serial: string
  readonly fingerprint256: string
  readonly issuer: string
  readonly keyType: KeyType
  readonly renewalId: string | undefined
  readonly chain: readonly string[]
  readonly intermediates: readonly IntermediateFacts[]
  readonly warnings: readonly CertificateDefect[]
  readonly #keyPem: string
  readonly #contexts = new Map<string, KeptContext>()
  #contextDefect: CertificateDefect | undefined

  constructor({ facts, keyPem }: ProvedPair) {
    this.certFile = facts.certFile
    this.keyFile = facts.keyFile
    this.names = facts.names
    this.notBeforeMs = facts.notBeforeMs
    this.notAfterMs = facts.notAfterMs
    this.serial = facts.serial
    this.fingerprint256 = facts.fingerprint256
    this.issuer = sharedTexts.get(facts.issuer)
    this.keyType = facts.keyType
    this.renewalId = facts.renewalId
    this.chain = facts.chain.map((pem, index) => (index === 0 ? pem : sharedTexts.get(pem)))
    this.intermediates = facts.intermediates
    this.warnings = facts.warnings
    this.#keyPem = keyPem
  }

  /**
   * Whether one of the names stands for `hostname`: a normalised host name, an IP literal without brackets, or a
   * wildcard, which only the same wildcard covers. RFC 9525 §6.3: a wildcard stands for exactly one whole label.
   */
  covers(hostname: string): boolean {
    if (isIP(hostname) !== 0) return this.names.includes(canonicalAddress(hostname))
    if (this.names.includes(hostname)) return true
    const firstDot = hostname.indexOf('.')
    return firstDot > 0 && this.names.includes(`*${hostname.slice(firstDot)}`)
  }

  /**
   * The context for handshakes on these terms, built on first use because that takes a millisecond or two; undefined where
   * this runtime refuses the pair, and `contextDefect` says why. Never throws. Tickets are good for the same certificate on
   * the same terms, as long as `ticketKeys` are of one generation; without keys, as long as the context.
   */
  secureContext(terms: ContextTerms = plainTerms, ticketKeys?: TicketKeys): SecureContext | undefined {
    if (this.#contextDefect !== undefined) return undefined
    const generation = ticketKeys?.generation ?? 0
    const kept = this.#contexts.get(terms.id)
    if (kept !== undefined && kept.generation >= generation) return kept.context
    const built = buildContext({ facts: this, keyPem: this.#keyPem }, { terms, ticketKeys })
    if ('code' in built) {
      this.#contextDefect = built
      return undefined
    }
    this.#keep(terms, { context: built, generation })
    return built
  }

  /** Whoever asks next waits for another one; handshakes under way keep theirs. */
  forgetContexts(): void {
    this.#contexts.clear()
  }

  /** Why `secureContext` gave none; undefined as long as it has not been tried. */
  get contextDefect(): CertificateDefect | undefined {
    return this.#contextDefect
  }

  #keep({ id }: ContextTerms, context: KeptContext): void {
    this.#contexts.delete(id)
    const [oldest] = this.#contexts.keys()
    if (oldest !== undefined && this.#contexts.size >= contextsKeptMax) this.#contexts.delete(oldest)
    this.#contexts.set(id, context)
  }
}

/** What thousands of certificates say alike, authorities and their names: each text is kept once. */
const sharedTexts = new RecentTexts(512, (text) => text)

interface KeptContext {
  readonly context: SecureContext
  /** Of the keys of its tickets. */
  readonly generation: number
}

// Terms come and go with reloads, and nobody says which are in use; one that is asked for again is built again.
const contextsKeptMax = 64

/** What a context is for. */
interface ContextRequest {
  readonly terms: ContextTerms
  readonly ticketKeys: TicketKeys | undefined
}

/** Tries what a handshake will need: a context of the pair, or why this runtime makes none. */
export function buildContext(
  { facts, keyPem }: ProvedPair,
  { terms, ticketKeys }: ContextRequest = { terms: plainTerms, ticketKeys: undefined },
): SecureContext | CertificateDefect {
  try {
    const options = contextOptions(terms, facts.fingerprint256)
    const tickets = terms.clientTrust === undefined && ticketKeys?.keyOf(`${facts.fingerprint256} ${terms.id}`)
    return createSecureContext({
      ...options,
      ...(tickets ? { ticketKeys: tickets } : {}),
      cert: facts.chain.join(''),
      key: keyPem,
    })
  } catch (error) {
    const message = `this runtime cannot serve the certificate: ${(error as Error).message}`
    return defect('cert_unusable', { file: facts.certFile, message })
  }
}
