// Which of a site's hosts its certificate does not name. Used where sites and certificates meet.
import type { Certificate, CertificateDefect } from './certificate.js'

/** One warning for each of `hosts`, normalised names, wildcards and addresses, that `certificate` does not cover. */
export function coverageWarnings(certificate: Certificate, hosts: readonly string[]): CertificateDefect[] {
  const known = certificate.names.join(', ') || 'no name at all'
  return hosts
    .filter((host) => !certificate.covers(host))
    .map((host) => ({
      code: 'name_not_covered',
      file: certificate.certFile,
      message: `the certificate does not cover ${host}, so clients that verify refuse it there`,
      hint: `it covers ${known}`,
    }))
}
