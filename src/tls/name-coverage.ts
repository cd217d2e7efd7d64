// How the names of a certificate and the hosts of its sites fit. Used where sites and certificates meet.
import type { Certificate } from './certificate.js'
import { type CertificateDefect, defect } from './defects.js'

/** One warning for each of `hosts`, normalised names, wildcards and addresses, that `certificate` does not cover. */
export function coverageWarnings(certificate: Certificate, hosts: readonly string[]): CertificateDefect[] {
  const known = certificate.names.join(', ') || 'no name at all'
  return hosts
    .filter((host) => !certificate.covers(host))
    .map((host) =>
      defect('name_not_covered', {
        file: certificate.certFile,
        message: `the certificate does not cover ${host}, so clients that verify refuse it there`,
        hint: `it covers ${known}`,
      }),
    )
}

/** At most one remark, on names that none of `hosts`, all hosts of all its sites, makes use of. */
export function unusedNames(certificate: Certificate, hosts: readonly string[]): CertificateDefect[] {
  const used = new Set(hosts.flatMap((host) => [host, `*${host.slice(host.indexOf('.'))}`]))
  const unused = certificate.names.filter((name) => !used.has(name))
  if (unused.length === 0) return []
  const message = `no site has the host ${unused.join(', ')}`
  return [defect('name_unused', { file: certificate.certFile, message })]
}

/** A warning for each certificate of one site whose key type another one has, which serves in its place. */
export function duplicateWarnings(certificates: readonly Certificate[]): CertificateDefect[] {
  return certificates.flatMap((certificate, index) => {
    const other = certificates.slice(0, index).find(({ keyType }) => keyType === certificate.keyType)
    if (other === undefined) return []
    const message = `the site has two pairs of type ${certificate.keyType}: ${other.certFile} and this one`
    return [defect('pair_duplicate', { file: certificate.certFile, message })]
  })
}
