// Every configured certificate once, the most urgent first. Pure; used by certs.
import type { CertificateFiles, Config } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import { daysLeft, type ExpiryState, expiryState } from '../tls/expiry.js'
import { unusableErrors } from './findings.js'
import type { Inspection } from './inspection.js'

/** `unusable`: the files cannot be served as they are. */
export type CertificateLevel = ExpiryState | 'unusable'

/** One certificate as `certs --json` prints it; what an unusable one does not tell is null. */
export interface ListedCertificate {
  readonly level: CertificateLevel
  readonly certificate: string
  readonly key: string
  readonly vhosts: readonly string[]
  /** Whether it is the fallback, for unknown and missing names. */
  readonly fallback: boolean
  readonly issuer: string | null
  readonly names: readonly string[] | null
  readonly keyType: string | null
  /** ISO 8601 in UTC. */
  readonly notBefore: string | null
  readonly notAfter: string | null
  readonly daysLeft: number | null
  readonly serial: string | null
  readonly fingerprint256: string | null
  /** Why it is unusable, at the first place that names it. */
  readonly errors: readonly ConfigError[]
}

/** The certificates of the fallback and of the sound sites. */
export function listCertificates(config: Config, inspection: Inspection, nowMs: number): readonly ListedCertificate[] {
  return groupUsers(config)
    .map((group) => listed(group, inspection, nowMs))
    .sort(byUrgency)
}

interface UserGroup {
  readonly files: CertificateFiles
  readonly vhosts: string[]
  readonly fallback: boolean
}

function groupUsers({ fallbackCertificate: fallback, vhosts }: Config): UserGroup[] {
  const groups = new Map<string, UserGroup>()
  if (fallback !== undefined) groups.set(keyOf(fallback), { files: fallback, vhosts: [], fallback: true })
  for (const { id, certificates } of vhosts) {
    for (const files of certificates) {
      const group = groups.get(keyOf(files)) ?? { files, vhosts: [], fallback: false }
      groups.set(keyOf(files), group)
      group.vhosts.push(id)
    }
  }
  return [...groups.values()]
}

function keyOf({ cert, key }: CertificateFiles): string {
  return `${cert}\0${key}`
}

function listed({ files, vhosts, fallback }: UserGroup, inspection: Inspection, nowMs: number): ListedCertificate {
  const pair = inspection.pair(files)
  const errors = pair === undefined ? [] : unusableErrors(pair)
  const certificate = pair?.certificate
  const level = certificate === undefined || errors.length > 0 ? 'unusable' : expiryState(certificate, nowMs)
  return {
    level,
    certificate: files.cert,
    key: files.key,
    vhosts,
    fallback,
    issuer: certificate?.issuer ?? null,
    names: certificate?.names ?? null,
    keyType: certificate?.keyType ?? null,
    notBefore: isoTime(certificate?.notBeforeMs),
    notAfter: isoTime(certificate?.notAfterMs),
    daysLeft: certificate === undefined ? null : daysLeft(certificate, nowMs),
    serial: certificate?.serial ?? null,
    fingerprint256: certificate?.fingerprint256 ?? null,
    errors,
  }
}

function isoTime(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString()
}

const urgency: Record<CertificateLevel, number> = {
  unusable: 0,
  expired: 1,
  not_yet_valid: 2,
  critical: 3,
  warn: 4,
  ok: 5,
}

function byUrgency(left: ListedCertificate, right: ListedCertificate): number {
  return (
    urgency[left.level] - urgency[right.level] ||
    (left.daysLeft ?? 0) - (right.daysLeft ?? 0) ||
    (left.certificate < right.certificate ? -1 : 1)
  )
}
