// Compares what serves with the clock and with what is on disk, and says in the log what comes to its end and what does
// not arrive, with the sites that hang on it. Used by the server, which tells it of each snapshot and of each reading.
import type { Log } from '../telemetry/log.js'
import type { ExpiryState } from '../tls/expiry.js'
import { type DatedThing, type ExpiryReport, ExpiryWatch } from '../tls/expiry-watch.js'
import type { WatchTime } from '../tls/level-watch.js'
import type { ShelvedPair } from './certificate-shelf.js'
import { type CertificateUsers, certificateUsers } from './certificate-users.js'
import { sitesInWords, timeInWords, whatVisitorsSee } from './certificate-words.js'
import { namedSites } from './named-sites.js'
import { ServiceWatch } from './service-watch.js'
import type { Snapshot } from './snapshot.js'

const longestDelayMs = 2 ** 31 - 1

/** The time of this machine. */
export const machineTime: WatchTime = {
  clock: Date.now,
  schedule: (work, delayMs) => {
    const timer = setTimeout(work, Math.min(delayMs, longestDelayMs)).unref()
    return () => clearTimeout(timer)
  },
}

/** The expiry of everything that serves, and whether it is what the files hold. */
export class CertificateWatch {
  readonly #expiry: ExpiryWatch
  readonly #service: ServiceWatch
  #followed: Snapshot | undefined

  constructor(log: () => Log, time: WatchTime = machineTime) {
    this.#expiry = new ExpiryWatch({ onReport: (report) => tell(log(), report, time.clock()), time })
    this.#service = new ServiceWatch({ log, time })
  }

  /** Watches what `snapshot` serves from now on. */
  follow(snapshot: Snapshot): void {
    const before = this.#followed
    this.#followed = snapshot
    if (before !== undefined && showsTheSame(before, snapshot)) return
    const users = certificateUsers(snapshot)
    const authorities = snapshot.clientAuthorities
    this.#expiry.setThings('sites', [...leavesOf(users), ...intermediatesOf(users), ...authorities])
  }

  /** Compares what serves with these pairs of files from now on. */
  followFiles(pairs: readonly ShelvedPair[], snapshot: Snapshot): void {
    const { renewalGraceMs: graceMs } = snapshot.config.reload
    this.#service.follow({ pairs, users: () => certificateUsers(snapshot), graceMs })
  }

  /** Watches what endpoints have shown, exactly these from now on. */
  followUpstreams(things: readonly DatedThing[]): void {
    this.#expiry.setThings('upstreams', things)
  }

  close(): void {
    this.#expiry.close()
    this.#service.close()
  }
}

/** Most reloads change no certificate, and ten thousand of them take a while to compare with the clock. */
function showsTheSame(before: Snapshot, after: Snapshot): boolean {
  if (before.fallback !== after.fallback || before.sites.length !== after.sites.length) return false
  if (before.clientAuthorities.length > 0 || after.clientAuthorities.length > 0) return false
  return before.sites.every((site, index) => {
    const other = after.sites[index]
    if (site === other) return true
    return (
      site.vhost.id === other?.vhost.id &&
      site.certificates.length === other.certificates.length &&
      site.certificates.every((certificate, position) => certificate === other.certificates[position])
    )
  })
}

function leavesOf(users: CertificateUsers): DatedThing[] {
  return [...users].map(([{ certFile, notBeforeMs, notAfterMs, serial, fingerprint256 }, vhosts]) => {
    return { kind: 'leaf', name: certFile, file: certFile, vhosts, notBeforeMs, notAfterMs, serial, fingerprint256 }
  })
}

/** Each authority once, however many chains it stands in. */
function intermediatesOf(users: CertificateUsers): DatedThing[] {
  const touched = new Map<string, Set<string>>()
  const things = new Map<string, Omit<DatedThing, 'vhosts'>>()
  for (const [{ certFile: file, intermediates }, vhosts] of users) {
    for (const { subject, ...intermediate } of intermediates) {
      const id = intermediate.fingerprint256
      if (!things.has(id)) {
        things.set(id, { kind: 'intermediate', name: `${subject} (${intermediate.serial})`, file, ...intermediate })
      }
      const sites = touched.get(id) ?? new Set()
      touched.set(id, sites)
      for (const vhost of vhosts) sites.add(vhost)
    }
  }
  return [...things].map(([id, thing]) => ({ ...thing, vhosts: [...(touched.get(id) ?? [])] }))
}

const levels: Record<ExpiryState, 'info' | 'warn' | 'error'> = {
  ok: 'info',
  warn: 'warn',
  critical: 'error',
  expired: 'error',
  not_yet_valid: 'error',
}

function tell(log: Log, report: ExpiryReport, nowMs: number): void {
  const level = levels[report.state]
  const message = messageOf(report, nowMs)
  const told = { ...report, ...namedSites(report.vhosts) }
  if (report.kind !== 'upstream') return log[level]('certificate_expiry', message, told)
  const { certificate: endpoint, kind: _, file: __, ...facts } = told
  log[level]('upstream_certificate_expiry', message, { endpoint, ...facts })
}

const kinds: Record<DatedThing['kind'], { readonly what: string; readonly consequence: string }> = {
  leaf: { what: 'the certificate', consequence: whatVisitorsSee },
  intermediate: { what: 'an authority in the chain', consequence: whatVisitorsSee },
  client_ca: { what: 'an authority for client certificates', consequence: 'its clients are refused' },
  upstream: { what: 'the certificate of an upstream', consequence: 'requests are answered 502' },
}

function messageOf({ kind, vhosts, state, notAfter }: ExpiryReport, nowMs: number): string {
  const { what, consequence } = kinds[kind]
  const whose = `${what} of ${sitesInWords(vhosts)}`
  const time = timeInWords(Date.parse(notAfter) - nowMs)
  const sentences: Record<ExpiryState, string> = {
    ok: `${whose} is well again`,
    warn: `${whose} ends in ${time} and should have been renewed by now`,
    critical: `${whose} ends in ${time}; then ${consequence}`,
    expired: `${whose} expired ${time} ago: ${consequence}`,
    not_yet_valid: `${whose} is not valid yet: ${consequence}; is the clock right?`,
  }
  return sentences[state]
}
