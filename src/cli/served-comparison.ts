// What a running server really shows for every configured name, compared with what is on disk. Used by certs --served.
// Handshakes are bounded in number and time, so that ten thousand names and a server that is slow both come to an end.
import { isIP } from 'node:net'
import type { CertificateFiles, Config } from '../config/config.js'
import { forEachBounded } from '../files/bounded.js'
import { pairKey } from '../server/certificate-shelf.js'
import type { KeyType } from '../tls/certificate.js'
import { type ExpiryState, expiryState } from '../tls/expiry.js'
import type { ListedCertificate } from './certificate-list.js'
import { askForCertificate, type ShownCertificate } from './served-certificate.js'

/**
 * `same`: what is on disk; `older`: issued before it; `other`: another one; `unknown`: the files cannot be used, so there
 * is nothing to compare with; `none`: no handshake.
 */
export type ServedVerdict = 'same' | 'older' | 'other' | 'unknown' | 'none'

/** What is served for one name, as `certs --json` prints it. */
export interface ServedName {
  /** As configured; null for clients that send no name. */
  readonly name: string | null
  /** The only kind of certificate that the client accepted, where the site has several; else null. */
  readonly keyType: KeyType | null
  /** Of the configured pair that should be served. */
  readonly certificate: string
  readonly verdict: ServedVerdict
  readonly level: ExpiryState | null
  readonly fingerprint256: string | null
  /** ISO 8601 in UTC. */
  readonly notAfter: string | null
  /** Why there was no handshake. */
  readonly failure: string | null
}

/** Whom to ask about what. */
export interface Comparison {
  readonly config: Config
  readonly list: readonly ListedCertificate[]
  readonly host: string
  readonly port: number
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

const handshakesAtOnce = 16
const allHandshakesMs = 120_000

/** Asks for every name; in the order of the configuration, the fallback last. */
export async function compareServed({ config, list, host, port, clock }: Comparison): Promise<readonly ServedName[]> {
  const endMs = clock() + allHandshakesMs
  const targets = targetsOf(config, list).map((target, index) => ({ target, index }))
  const results: ServedName[] = []
  await forEachBounded(targets, handshakesAtOnce, async ({ target, index }) => {
    const { serverName, keyType } = target
    const isLate = clock() > endMs
    const shown = isLate
      ? { failure: 'not asked: it took too long' }
      : await askForCertificate({ host, port, serverName, keyType })
    results[index] = judged(target, shown, clock())
  })
  return results
}

/** One handshake to make, and what should come of it. */
interface Target {
  readonly name: string | null
  readonly serverName: string | undefined
  readonly keyType: KeyType | undefined
  /** The pairs of which one should be shown; more than one where the site has two of a kind. */
  readonly expected: readonly ListedCertificate[]
}

function targetsOf({ listeners, vhosts, fallbackCertificate }: Config, list: readonly ListedCertificate[]): Target[] {
  const overTls = new Set(listeners.filter(({ tls }) => tls).map(({ name }) => name))
  const byFile = new Map(list.map((listed) => [pairKey({ cert: listed.certificate, key: listed.key }), [listed]]))
  const find = (files: CertificateFiles): ListedCertificate[] => byFile.get(pairKey(files)) ?? []
  const targets = vhosts
    .filter((vhost) => vhost.listeners.some((name) => overTls.has(name)))
    .flatMap(({ hosts, certificates }) => siteTargets(hosts, certificates.flatMap(find)))
  const fallback = fallbackCertificate === undefined ? [] : find(fallbackCertificate)
  if (fallback.length === 0) return targets
  return [...targets, { name: null, serverName: undefined, keyType: undefined, expected: fallback }]
}

// Clients send no addresses as names (RFC 6066 §3), so what is shown for one cannot be asked for.
function siteTargets(hosts: readonly string[], pairs: readonly ListedCertificate[]): Target[] {
  const byType = new Map<string | null, ListedCertificate[]>()
  for (const pair of pairs) byType.set(pair.keyType, [...(byType.get(pair.keyType) ?? []), pair])
  return hosts
    .filter((host) => isIP(host) === 0)
    .flatMap((name) =>
      [...byType].map(([keyType, expected]) => ({
        name,
        serverName: name.startsWith('*.') ? `${probeLabel}${name.slice(1)}` : name,
        keyType: byType.size > 1 ? ((keyType ?? undefined) as KeyType | undefined) : undefined,
        expected,
      })),
    )
}

/** Stands for the star of a wildcard. */
const probeLabel = 'hostward-certs'

function judged({ name, expected, ...target }: Target, shown: ShownCertificate, nowMs: number): ServedName {
  const keyType = target.keyType ?? null
  const certificate = expected[0]?.certificate ?? ''
  if ('failure' in shown) {
    const nothing = { level: null, fingerprint256: null, notAfter: null }
    return { name, keyType, certificate, verdict: 'none', ...nothing, failure: shown.failure }
  }
  const { fingerprint256, notAfterMs } = shown
  return {
    name,
    keyType,
    certificate,
    verdict: verdictOn(shown, expected),
    level: expiryState(shown, nowMs),
    fingerprint256,
    notAfter: new Date(notAfterMs).toISOString(),
    failure: null,
  }
}

function verdictOn(
  { fingerprint256, notBeforeMs }: Exclude<ShownCertificate, { failure: string }>,
  expected: readonly ListedCertificate[],
): ServedVerdict {
  if (expected.some((pair) => pair.fingerprint256 === fingerprint256)) return 'same'
  const issuedMs = expected.flatMap(({ notBefore }) => (notBefore === null ? [] : [Date.parse(notBefore)]))
  if (issuedMs.length === 0) return 'unknown'
  return issuedMs.every((each) => notBeforeMs < each) ? 'older' : 'other'
}
