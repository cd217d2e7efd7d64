// Which sites show which certificate. Pure; used by the watches over certificates.
import type { Certificate } from '../tls/certificate.js'
import type { Snapshot } from './snapshot.js'

/** The sites of each certificate in service. */
export type CertificateUsers = ReadonlyMap<Certificate, readonly string[]>

/** Each certificate in service once; the fallback without sites of its own. */
export function certificateUsers({ sites, fallback }: Snapshot): CertificateUsers {
  const users = new Map<Certificate, string[]>()
  if (fallback !== undefined) users.set(fallback, [])
  for (const { vhost, certificates } of sites) {
    for (const certificate of certificates) {
      const known = users.get(certificate)
      if (known === undefined) users.set(certificate, [vhost.id])
      else known.push(vhost.id)
    }
  }
  return users
}
