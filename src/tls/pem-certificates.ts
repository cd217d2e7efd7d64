// From the bytes of a certificate file to its certificates, or to the one defect that keeps it from use. Used by
// certificate-parse.ts. Every block is read here, because OpenSSL's loader drops what follows a bad one without a word.
import { X509Certificate } from 'node:crypto'
import { type CertificateDetails, readDetails } from './certificate-details.js'
import { type CertificateDefect, defect } from './defects.js'
import { readPem } from './pem.js'
import { RecentTexts } from './recent-texts.js'

/** A certificate of the file, as OpenSSL and as our own reader see it. */
export interface ChainLink {
  readonly x509: X509Certificate
  readonly details: CertificateDetails
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** At least one certificate, in the order of the file. */
export type ChainLinks = readonly [leaf: ChainLink, ...others: ChainLink[]]

/** Reads all certificates of a file; one that cannot be parsed spoils the whole. */
export function readCertificates(file: string, bytes: Buffer): ChainLinks | CertificateDefect {
  if (bytes.length === 0) return defect('cert_empty', { file })
  const { blocks, isTruncated } = readPem(bytes)
  if (isTruncated) return defect('cert_truncated', { file })
  const texts = blocks.filter(({ label }) => label === 'CERTIFICATE').map(({ text }) => text)
  const links: ChainLink[] = []
  for (const [index, text] of texts.entries()) {
    const link = index === 0 ? readLink(text) : readAuthority(text)
    if (typeof link === 'string') {
      return defect('cert_invalid', { file, message: `certificate ${index + 1} of ${texts.length}: ${link}` })
    }
    links.push(link)
  }
  const [leaf, ...others] = links
  if (leaf !== undefined) return [leaf, ...others]
  const hasKey = blocks.some(({ label }) => label.endsWith('PRIVATE KEY'))
  return defect(
    'cert_not_pem',
    hasKey ? { file, message: 'the file holds a private key and no certificate' } : { file },
  )
}

/** Some sites have one of their own, most share one of a few. */
const authoritiesMax = 256
const authorities = new RecentTexts(authoritiesMax, readLink)

// A copy of what is known: a certificate that stands in a file twice is two links.
function readAuthority(pem: string): ChainLink | string {
  const link = authorities.get(pem)
  return typeof link === 'string' ? link : { ...link }
}

/** A certificate in PEM or DER, or why it cannot be parsed. */
export function readLink(encoded: string | Buffer): ChainLink | string {
  try {
    const x509 = new X509Certificate(encoded)
    const [notBeforeMs, notAfterMs] = [Date.parse(x509.validFrom), Date.parse(x509.validTo)]
    if (Number.isNaN(notBeforeMs) || Number.isNaN(notAfterMs)) return 'its dates cannot be read'
    return { x509, details: readDetails(x509.raw), notBeforeMs, notAfterMs }
  } catch (error) {
    return `it cannot be parsed (${(error as Error).message})`
  }
}
