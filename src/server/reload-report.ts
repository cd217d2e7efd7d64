// What the log says of certificates and of sites that do not serve as configured. Used by the reload.
import type { VhostConfig } from '../config/config.js'
import type { Log } from '../telemetry/log.js'
import { coverageWarnings } from '../tls/name-coverage.js'
import type { ShelvedPair } from './certificate-shelf.js'
import type { LoadOutcome } from './load.js'
import type { DegradedSite } from './sites.js'
import type { Snapshot } from './snapshot.js'

/** Tells of pairs that serve from now on, and of pairs whose files cannot be used as they are. */
export function reportCertificates(log: Log, { certificates }: LoadOutcome, snapshot: Snapshot | undefined): void {
  for (const pair of certificates.accepted) {
    const { certificate } = pair
    if (certificate === undefined) continue
    const { serial, fingerprint256, warnings } = certificate
    const notAfter = new Date(certificate.notAfterMs).toISOString()
    const facts = { ...nameOf(pair, snapshot), notAfter, serial, fingerprint256 }
    log.info('certificate_loaded', 'a certificate is in service', facts)
    const defects = [...warnings, ...coverageWarnings(certificate, hostsOf(pair, snapshot))]
    for (const defect of defects)
      log.warn('certificate_defect', defect.message, { ...nameOf(pair, snapshot), ...defect })
  }
  for (const pair of certificates.pending) {
    const [defect] = pair.pending?.defects ?? []
    const facts = { ...nameOf(pair, snapshot), reason: pair.pending?.reason, file: defect?.file, hint: defect?.hint }
    log.warn('certificate_pending', defect?.message ?? 'a certificate cannot be used yet', facts)
  }
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

function nameOf(pair: ShelvedPair, snapshot: Snapshot | undefined): { certificate: string; vhosts: string[] } {
  return { certificate: pair.files.cert, vhosts: usersOf(pair, snapshot).map(({ id }) => id) }
}

function hostsOf(pair: ShelvedPair, snapshot: Snapshot | undefined): string[] {
  return usersOf(pair, snapshot).flatMap(({ hosts }) => hosts)
}

function usersOf({ files }: ShelvedPair, snapshot: Snapshot | undefined): VhostConfig[] {
  const sites = snapshot?.sites.map(({ vhost }) => vhost) ?? []
  return sites.filter(({ certificates }) =>
    certificates.some(({ cert, key }) => cert === files.cert && key === files.key),
  )
}
