// Certificate: one proved pair of certificate and key, as a value. Made by certificate-parse.ts only; chosen by
// CertificateStore, watched by ExpiryWatch. The key never leaves it but into the TLS context.
import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import { createSecureContext } from 'node:tls'
import { contextOptions } from './context-options.js'
import { canonicalAddress } from './subject-names.js'

/** The kinds of key that TLS clients can be expected to accept. */
export type KeyType = 'rsa' | 'ec' | 'ed25519'

/** What is wrong with a pair or worth a warning: a code for machines, the rest for people. */
export interface CertificateDefect {
  readonly code: string
  readonly file: string
  readonly message: string
  readonly hint: string
}

/** What certificate-parse.ts has found out about a pair. */
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
  /** PEM blocks as they are sent, leaf first. */
  readonly chain: readonly string[]
  /** Defects that do not keep the pair from being served. */
  readonly warnings: readonly CertificateDefect[]
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
  readonly chain: readonly string[]
  readonly warnings: readonly CertificateDefect[]
  readonly #keyPem: string
  #context: SecureContext | undefined
  #contextDefect: CertificateDefect | undefined

  constructor(facts: CertificateFacts, keyPem: string) {
    this.certFile = facts.certFile
    this.keyFile = facts.keyFile
    this.names = facts.names
    this.notBeforeMs = facts.notBeforeMs
    this.notAfterMs = facts.notAfterMs
    this.serial = facts.serial
    this.fingerprint256 = facts.fingerprint256
    this.issuer = facts.issuer
    this.keyType = facts.keyType
    this.chain = facts.chain
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
   * The context for handshakes, built on first use because that takes a millisecond or two; undefined where this
   * runtime refuses the pair, and `contextDefect` says why. Never throws: a throw in SNICallback ends the process.
   */
  secureContext(): SecureContext | undefined {
    if (this.#context === undefined && this.#contextDefect === undefined) this.#build()
    return this.#context
  }

  /** Why `secureContext` gave none; undefined as long as it has not been tried. */
  get contextDefect(): CertificateDefect | undefined {
    return this.#contextDefect
  }

  #build(): void {
    try {
      this.#context = createSecureContext({ ...contextOptions, cert: this.chain.join(''), key: this.#keyPem })
    } catch (error) {
      this.#contextDefect = {
        code: 'cert_unusable',
        file: this.certFile,
        message: `this runtime cannot serve the certificate: ${(error as Error).message}`,
        hint: 'issue it again with a SHA-256 signature and an RSA (2048 bits or more) or P-256 key',
      }
    }
  }
}
