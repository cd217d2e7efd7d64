// One certificate of a chain, as all that judge chains see it. Read here by OpenSSL; a leaf may come from issued-leaf.ts.
import { X509Certificate } from 'node:crypto'
import { type CertificateDetails, readDetails } from './certificate-details.js'

/** A certificate of the file, as OpenSSL and as our own reader see it. */
export interface ChainLink {
  /** Parsed when it is asked for, where `signer` is known. */
  readonly x509: X509Certificate
  readonly der: Buffer
  /** Of the authority whose signature was verified in reading it. */
  readonly signer: CertificateDetails | undefined
  /** As OpenSSL writes them. */
  readonly issuer: string
  readonly serial: string
  readonly fingerprint256: string
  readonly details: CertificateDetails
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** At least one certificate, in the order of the file. */
export type ChainLinks = readonly [leaf: ChainLink, ...others: ChainLink[]]

/** A certificate in PEM or DER, or why it cannot be parsed. */
export function readLink(encoded: string | Buffer): ChainLink | string {
  try {
    const x509 = new X509Certificate(encoded)
    const [notBeforeMs, notAfterMs] = [Date.parse(x509.validFrom), Date.parse(x509.validTo)]
    if (Number.isNaN(notBeforeMs) || Number.isNaN(notAfterMs)) return 'its dates cannot be read'
    const { raw: der, issuer, serialNumber: serial, fingerprint256 } = x509
    const details = readDetails(der)
    return { x509, der, signer: undefined, issuer, serial, fingerprint256, details, notBeforeMs, notAfterMs }
  } catch (error) {
    return `it cannot be parsed (${(error as Error).message})`
  }
}
