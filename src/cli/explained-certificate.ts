// Which certificate a handshake would be answered with, and why. The store of the snapshot chooses. Used by why.
import type { ListenerPlan, Snapshot } from '../server/snapshot.js'
import type { Certificate } from '../tls/certificate.js'
import { daysLeft, type ExpiryState, expiryState } from '../tls/expiry.js'
import { coverageWarnings } from '../tls/name-coverage.js'
import { matchSite, type SiteMatch } from './site-match.js'

/** The choice as `why --json` prints it. */
export interface ExplainedCertificate {
  /** Whose certificate it is; `alert`: the handshake is refused. */
  readonly from: 'site' | 'fallback' | 'alert'
  readonly because: string
  readonly file: string | null
  readonly vhost: string | null
  readonly keyType: string | null
  readonly state: ExpiryState | null
  readonly daysLeft: number | null
  /** What clients without ECDSA get, where that is another one. */
  readonly withoutEcdsa: string | null
  readonly warnings: readonly string[]
}

/** Chooses for a client that sends `serverName`, undefined for none, and knows every kind of key. */
export function explainCertificate(
  serverName: string | undefined,
  plan: ListenerPlan,
  snapshot: Snapshot,
): ExplainedCertificate {
  const chosen = plan.certificates.choose({ serverName, supportsEcdsa: true, supportsRsa: true })
  const match = serverName === undefined ? undefined : matchSite(serverName, plan, snapshot)
  const reason = sniReason(serverName, match)
  if (chosen === undefined) return refused(`${reason}, and there is no fallbackCertificate`)
  if (chosen.secureContext() === undefined) return refused(chosen.contextDefect?.message ?? 'it cannot be used')
  const owner = match?.site.certificates.includes(chosen) ? match.site.vhost.id : undefined
  const other = plan.certificates.choose({ serverName, supportsEcdsa: false, supportsRsa: true })
  return {
    from: owner === undefined ? 'fallback' : 'site',
    because: owner === undefined ? `${reason}, so fallbackCertificate is sent` : reason,
    vhost: owner ?? null,
    ...factsOf(chosen, Date.now()),
    withoutEcdsa: other === undefined || other === chosen ? null : other.certFile,
    warnings: warningsOf(chosen, owner === undefined ? undefined : serverName),
  }
}

function sniReason(serverName: string | undefined, match: SiteMatch | undefined): string {
  if (serverName === undefined) return 'no SNI is sent'
  if (match === undefined) return `SNI ${serverName} belongs to no site on this listener`
  const { site, pattern, kind } = match
  if (kind === 'exact') return `SNI ${serverName} belongs to site ${site.vhost.id}`
  return `SNI ${serverName} belongs to site ${site.vhost.id} by its wildcard "${pattern}"`
}

function refused(because: string): ExplainedCertificate {
  const nothing = { file: null, vhost: null, keyType: null, state: null, daysLeft: null, withoutEcdsa: null }
  return { from: 'alert', because, ...nothing, warnings: [] }
}

function factsOf(
  certificate: Certificate,
  nowMs: number,
): Pick<ExplainedCertificate, 'file' | 'keyType' | 'state' | 'daysLeft'> {
  const { certFile, keyType } = certificate
  return {
    file: certFile,
    keyType,
    state: expiryState(certificate, nowMs),
    daysLeft: daysLeft(certificate, nowMs),
  }
}

function warningsOf(certificate: Certificate, serverName: string | undefined): readonly string[] {
  const state = expiryState(certificate, Date.now())
  const ends = new Date(certificate.notAfterMs).toISOString()
  const begins = new Date(certificate.notBeforeMs).toISOString()
  const sentences: Record<ExpiryState, readonly string[]> = {
    ok: [],
    warn: [`the certificate ends on ${ends} and should have been renewed by now`],
    critical: [`the certificate ends on ${ends}`],
    expired: [`the certificate has expired on ${ends}: clients that verify refuse it`],
    not_yet_valid: [`the certificate is not valid before ${begins}: clients that verify refuse it`],
  }
  const uncovered = serverName === undefined ? [] : coverageWarnings(certificate, [serverName])
  return [...sentences[state], ...uncovered.map(({ message }) => message)]
}
