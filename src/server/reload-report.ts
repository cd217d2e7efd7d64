// What the log says of certificates and of sites that do not serve as configured. Used by the reload.
import type { CertificateFiles, VhostConfig } from '../config/config.js'
import type { Log } from '../telemetry/log.js'
import { coverageWarnings } from '../tls/name-coverage.js'
import { pairKey, type ShelvedPair } from './certificate-shelf.js'
import type { LoadOutcome } from './load.js'
import type { DegradedSite } from './sites.js'
import type { Snapshot } from './snapshot.js'

/** Tells of pairs that serve from now on, and of pairs whose files cannot be used as they are. */
export function reportCertificates(log: Log, { certificates }: LoadOutcome, snapshot: Snapshot | undefined): void {
  const users = usersByPair(snapshot)
  for (const pair of certificates.accepted) reportAccepted(log, pair, users.get(pairKey(pair.files)) ?? [])
  for (const pair of certificates.pending) reportPending(log, pair, users.get(pairKey(pair.files)) ?? [])
}

function reportAccepted(log: Log, { files, certificate }: ShelvedPair, users: readonly VhostConfig[]): void {
  if (certificate === undefined) return
  const { serial, fingerprint256, warnings } = certificate
  const name = nameOf(files, users)
  const notAfter = new Date(certificate.notAfterMs).toISOString()
  log.info('certificate_loaded', 'a certificate is in service', { ...name, notAfter, serial, fingerprint256 })
  const hosts = users.flatMap((user) => user.hosts)
  for (const defect of [...warnings, ...coverageWarnings(certificate, hosts)]) {
    log.warn('certificate_defect', defect.message, { ...name, ...defect })
  }
}

function reportPending(log: Log, { files, pending }: ShelvedPair, users: readonly VhostConfig[]): void {
  const [defect] = pending?.defects ?? []
  const facts = { ...nameOf(files, users), reason: pending?.reason, file: defect?.file, hint: defect?.hint }
  log.warn('certificate_pending', defect?.message ?? 'a certificate cannot be used yet', facts)
}

/** Tells of sites that became degraded, changed their mistakes, or serve as configured again. */
export function reportDegraded(log: Log, snapshot: Snapshot, previous: Snapshot | undefined): void {
  const told = new Set(previous?.degraded.map((site) => JSON.stringify(site)))
  for (const site of snapshot.degraded) {
    if (told.has(JSON.stringify(site))) continue
    log.error('site_degraded', messages[site.serves], { vhost: site.vhost, serves: site.serves, errors: site.errors })
  }
  const still = new Set(snapshot.degraded.map(({ vhost }) => vhost))
  for (const vhost of new Set(previous?.degraded.map((site) => site.vhost))) {
    if (!still.has(vhost)) log.info('site_restored', 'the site serves as configured again', { vhost })
  }
}

const messages: Record<DegradedSite['serves'], string> = {
  last_good: 'the site has mistakes; its last good version serves',
  partly: 'a certificate of the site cannot be used; the others serve',
  closed: 'the site has mistakes and is closed',
}

function nameOf({ cert }: CertificateFiles, users: readonly VhostConfig[]): { certificate: string; vhosts: string[] } {
  return { certificate: cert, vhosts: users.map(({ id }) => id) }
}

/** The sites of each pair, found in one pass: ten thousand pairs may be new at once. */
function usersByPair(snapshot: Snapshot | undefined): ReadonlyMap<string, readonly VhostConfig[]> {
  const users = new Map<string, VhostConfig[]>()
  for (const { vhost } of snapshot?.sites ?? []) {
    for (const key of new Set(vhost.certificates.map(pairKey))) {
      const known = users.get(key)
      if (known === undefined) users.set(key, [vhost])
      else known.push(vhost)
    }
  }
  return users
}
