// What there is to say of a pair that serves, alone and for the sites that use it. Pure; used by the log and the commands.
import type { Certificate } from '../tls/certificate.js'
import type { CertificateDefect } from '../tls/defects.js'
import { coverageWarnings, duplicateWarnings, unusedNames } from '../tls/name-coverage.js'
import type { ShelvedPair } from './certificate-shelf.js'
import type { ServingSite } from './sites.js'

/** What is wrong with the pair, whoever uses it; no site at all is the fallback, which nobody verifies. */
export function ownDefects(
  { certificate, warnings }: Pick<ShelvedPair, 'certificate' | 'warnings'>,
  sites: readonly ServingSite[],
): readonly CertificateDefect[] {
  if (certificate === undefined) return []
  if (sites.length === 0) return warnings.filter(({ code }) => code !== 'self_signed' && code !== 'name_cn_only')
  const hosts = sites.flatMap(({ vhost }) => vhost.hosts)
  return [...warnings, ...unusedNames(certificate, hosts)]
}

/** What is wrong with it for one of its sites. */
export function siteDefects(certificate: Certificate, { vhost, certificates }: ServingSite): CertificateDefect[] {
  const duplicates = duplicateWarnings(certificates).filter(({ file }) => file === certificate.certFile)
  return [...coverageWarnings(certificate, vhost.hosts), ...duplicates]
}
