// What the log says of certificates and of sites that do not serve as configured. Used by the reload.
import type { CertificateFiles } from '../config/config.js'
import { differenceOf } from '../files/difference.js'
import type { Log } from '../telemetry/log.js'
import type { CertificateDefect, DefectAct } from '../tls/defects.js'
import { pairKey, type ShelvedPair } from './certificate-shelf.js'
import type { Changes } from './changes.js'
import { grouped } from './grouped.js'
import type { LoadOutcome } from './load.js'
import { firstOf, type NamedSites, namedSites } from './named-sites.js'
import { ownDefects, siteDefects } from './pair-defects.js'
import type { DegradedSite, ServingSite } from './sites.js'
import type { Snapshot } from './snapshot.js'

/** Tells, in steps, of pairs that serve from now on, and of pairs whose files cannot be used as they are. */
export function* reportCertificates(
  log: Log,
  { certificates }: LoadOutcome,
  snapshot: Snapshot | undefined,
): Generator<void, void> {
  if (certificates.accepted.length + certificates.pending.length === 0) return
  const users = usersByPair(snapshot)
  for (const pair of certificates.accepted) {
    yield
    reportAccepted(log, pair, users.get(pairKey(pair.files)) ?? [])
  }
  for (const pair of certificates.pending) {
    yield
    reportPending(log, pair, users.get(pairKey(pair.files)) ?? [])
  }
}

function reportAccepted(log: Log, pair: ShelvedPair, users: readonly ServingSite[]): void {
  const { files, certificate } = pair
  if (certificate === undefined) return
  const { serial, fingerprint256 } = certificate
  const name = nameOf(files, users)
  const notAfter = new Date(certificate.notAfterMs).toISOString()
  log.info('certificate_loaded', 'a certificate is in service', { ...name, notAfter, serial, fingerprint256 })
  for (const defect of ownDefects(pair, users)) reportDefect(log, defect, name)
  for (const site of users) {
    for (const defect of siteDefects(certificate, site)) reportDefect(log, defect, nameOf(files, [site]))
  }
}

const levels: Record<DefectAct, 'info' | 'warn'> = { refuse: 'warn', keep: 'warn', warn: 'warn', info: 'info' }

function reportDefect(log: Log, defect: CertificateDefect, name: PairName): void {
  log[levels[defect.act]]('certificate_defect', defect.message, { ...name, ...defect })
}

// Half a renewal is no news while the old pair serves; that it stays one is told by the watch over what is in service.
function reportPending(log: Log, { files, certificate, pending }: ShelvedPair, users: readonly ServingSite[]): void {
  const [defect] = pending?.defects ?? []
  const { code, file, hint } = defect ?? {}
  const facts = { ...nameOf(files, users), reason: pending?.reason, code, file, hint }
  const level = certificate === undefined ? 'warn' : 'info'
  log[level]('certificate_pending', defect?.message ?? 'a certificate cannot be used yet', facts)
}

/** What a reload has put into service, and in whose place. */
export interface Replacement {
  readonly outcome: LoadOutcome
  readonly snapshot: Snapshot
  readonly previous: Snapshot | undefined
}

/** Tells, in steps, what certificates that were in service before lack for sites whose hosts are new. */
export function* reportNewHosts(log: Log, { outcome, snapshot, previous }: Replacement): Generator<void, void> {
  const told = new Set(outcome.certificates.accepted.map(({ certificate }) => certificate))
  const { gone, come } = differenceOf(previous?.sites ?? [], snapshot.sites)
  const hosts = new Map(gone.map(({ vhost }) => [vhost.id, vhost.hosts.join()]))
  for (const site of come) {
    yield
    if (hosts.get(site.vhost.id) === site.vhost.hosts.join()) continue
    for (const certificate of site.certificates) {
      if (told.has(certificate)) continue
      const name = { certificate: certificate.certFile, ...namedSites([site.vhost.id]) }
      for (const defect of siteDefects(certificate, site)) reportDefect(log, defect, name)
    }
  }
}

/** What a reload cost. */
export interface ReloadCost {
  readonly durationMs: number
  /** The longest time for which the event loop was blocked. */
  readonly blockedMs: number
}

/** A snapshot that serves, what it has changed, and at what cost. */
export interface AppliedReload {
  readonly snapshot: Snapshot
  readonly changes: Changes
  readonly cost: ReloadCost
}

/** Tells that another snapshot serves, and what it changes. */
export function reportReloaded(
  log: Log,
  { snapshot, changes: { added, removed, changed }, cost }: AppliedReload,
): void {
  const degraded = snapshot.degraded.map(({ vhost }) => vhost)
  log.info('config_reloaded', 'the configuration is in service', {
    generation: snapshot.generation,
    durationMs: Math.round(cost.durationMs),
    blockedMs: Math.round(cost.blockedMs * 10) / 10,
    added: added.length,
    removed: removed.length,
    changed: changed.length,
    degraded: degraded.length,
    vhosts: {
      added: firstOf(added),
      removed: firstOf(removed),
      changed: firstOf(changed),
      degraded: firstOf(degraded),
    },
  })
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

interface PairName extends NamedSites {
  readonly certificate: string
}

function nameOf({ cert }: CertificateFiles, users: readonly ServingSite[]): PairName {
  return { certificate: cert, ...namedSites(users.map(({ vhost }) => vhost.id)) }
}

/** The sites of each pair, found in one pass: ten thousand pairs may be new at once. */
function usersByPair(snapshot: Snapshot | undefined): ReadonlyMap<string, readonly ServingSite[]> {
  return grouped<ServingSite, string>(snapshot?.sites ?? [], ({ vhost }) => new Set(vhost.certificates.map(pairKey)))
}
