// What is wrong with the chain that a certificate file holds, without knowing the client's roots. Used by
// certificate-parse.ts; all of it is served nevertheless.
import type { X509Certificate } from 'node:crypto'
import type { CertificateDefect } from './certificate.js'

/** Warnings on the certificates behind the first one, and on a leaf that names nobody. */
export function chainWarnings(file: string, blocks: readonly X509Certificate[]): CertificateDefect[] {
  const [leaf, ...rest] = blocks
  if (leaf === undefined) return []
  const warnings: CertificateDefect[] = []
  if (leaf.subjectAltName === undefined) {
    warnings.push({
      code: 'name_cn_only',
      file,
      message: 'the certificate has no subject alternative name; no client of today accepts it for any host',
      hint: 'issue it with the host names as DNS names; the common name is ignored',
    })
  }
  if (!isIssuedBy(leaf, leaf) && !rest.some((issuer) => isIssuedBy(leaf, issuer))) {
    warnings.push({
      code: 'chain_incomplete',
      file,
      message: "the file does not hold the issuer's certificate, so strict clients cannot verify the chain",
      hint: 'use the full chain (certbot: fullchain.pem), leaf first',
    })
  }
  return warnings
}

// Not checkIssued: it wants the right to sign certificates, which a self-signed server certificate does not have.
function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  if (certificate.issuer !== issuer.subject) return false
  try {
    return certificate.verify(issuer.publicKey)
  } catch {
    // A key of a kind that this runtime does not know (they grow in number) cannot be asked; the name has to do.
    return true
  }
}
