// Every configured certificate once, the most urgent first, with all that is wrong with it. Pure; used by certs.
import type { CertificateFiles, Config } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import { pairKey, type ShelvedPair } from '../server/certificate-shelf.js'
import { ownDefects, siteDefects } from '../server/pair-defects.js'
import type { ServingSite } from '../server/sites.js'
import type { Certificate, IntermediateFacts } from '../tls/certificate.js'
import type { CertificateDefect } from '../tls/defects.js'
import { daysLeft, type ExpiryState, expiryState, renewalDueMs } from '../tls/expiry.js'
import { siteOf, unusableErrors } from './findings.js'
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
  /** From when on a renewal is late. */
  readonly renewalDue: string | null
  /** What an authority's renewal information (ARI) is asked by. */
  readonly renewalId: string | null
  readonly daysLeft: number | null
  readonly serial: string | null
  readonly fingerprint256: string | null
  /** The authorities that are sent with it, nearest first. */
  readonly chain: readonly ListedAuthority[]
  /** Why it is unusable, at the first place that names it. */
  readonly errors: readonly ConfigError[]
  /** What is wrong with it beyond that and its dates. */
  readonly defects: readonly CertificateDefect[]
}

/** An authority of a chain. */
export interface ListedAuthority {
  readonly level: ExpiryState
  readonly subject: string
  readonly notAfter: string
  readonly daysLeft: number
  readonly serial: string
  readonly fingerprint256: string
}

/** The certificates of the fallback and of the sound sites. */
export function listCertificates(config: Config, inspection: Inspection, nowMs: number): readonly ListedCertificate[] {
  return groupUsers(config, inspection)
    .map((group) => listed(group, nowMs))
    .sort(byUrgency)
}

/** Whether somebody has to do something about it. */
export function needsHand({ level, chain, defects }: ListedCertificate): boolean {
  return (
    level !== 'ok' || chain.some((authority) => authority.level !== 'ok') || defects.some(({ act }) => act !== 'info')
  )
}

interface UserGroup {
  readonly files: CertificateFiles
  readonly pair: ShelvedPair | undefined
  readonly sites: ServingSite[]
  readonly fallback: boolean
}

function groupUsers({ fallbackCertificate, vhosts }: Config, { pair }: Inspection): UserGroup[] {
  const groups = new Map<string, UserGroup>()
  const groupOf = (files: CertificateFiles, fallback: boolean): UserGroup => {
    const group = groups.get(pairKey(files)) ?? { files, pair: pair(files), sites: [], fallback }
    groups.set(pairKey(files), group)
    return group
  }
  if (fallbackCertificate !== undefined) groupOf(fallbackCertificate, true)
  for (const vhost of vhosts) {
    const site = siteOf(vhost, pair)
    for (const files of vhost.certificates) groupOf(files, false).sites.push(site)
  }
  return [...groups.values()]
}

function listed({ files, pair, sites, fallback }: UserGroup, nowMs: number): ListedCertificate {
  const errors = pair === undefined ? [] : unusableErrors(pair)
  const certificate = pair?.certificate
  const isUnusable = certificate === undefined || errors.length > 0
  return {
    level: isUnusable ? 'unusable' : expiryState(certificate, nowMs),
    certificate: files.cert,
    key: files.key,
    vhosts: sites.map(({ vhost }) => vhost.id),
    fallback,
    ...(certificate === undefined ? nothingKnown : factsOf(certificate, nowMs)),
    errors,
    defects: pair === undefined || certificate === undefined ? [] : defectsOf({ pair, certificate, sites }),
  }
}

type Facts = Omit<ListedCertificate, 'level' | 'certificate' | 'key' | 'vhosts' | 'fallback' | 'errors' | 'defects'>

const nothingKnown: Facts = {
  issuer: null,
  names: null,
  keyType: null,
  notBefore: null,
  notAfter: null,
  renewalDue: null,
  renewalId: null,
  daysLeft: null,
  serial: null,
  fingerprint256: null,
  chain: [],
}

function factsOf(certificate: Certificate, nowMs: number): Facts {
  const { issuer, names, keyType, notBeforeMs, notAfterMs, renewalId, serial, fingerprint256, intermediates } =
    certificate
  return {
    issuer,
    names,
    keyType,
    notBefore: isoTime(notBeforeMs),
    notAfter: isoTime(notAfterMs),
    renewalDue: isoTime(renewalDueMs(certificate)),
    renewalId: renewalId ?? null,
    daysLeft: daysLeft(certificate, nowMs),
    serial,
    fingerprint256,
    chain: intermediates.map((authority) => listedAuthority(authority, nowMs)),
  }
}

function listedAuthority(authority: IntermediateFacts, nowMs: number): ListedAuthority {
  const { subject, notAfterMs, serial, fingerprint256 } = authority
  const level = expiryState(authority, nowMs)
  return { level, subject, notAfter: isoTime(notAfterMs), daysLeft: daysLeft(authority, nowMs), serial, fingerprint256 }
}

interface PairInUse {
  readonly pair: ShelvedPair
  readonly certificate: Certificate
  readonly sites: readonly ServingSite[]
}

function defectsOf({ pair, certificate, sites }: PairInUse): CertificateDefect[] {
  return [...ownDefects(pair, sites), ...sites.flatMap((site) => siteDefects(certificate, site))]
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
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
