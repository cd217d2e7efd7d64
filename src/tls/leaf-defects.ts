// What is wrong with a certificate that a server shows, beyond its chain, dates and key file. Pure; used by
// certificate-parse.ts. All of it is served: clients differ in what they mind.
import type { Chain } from './chain.js'
import type { ChainLink } from './chain-link.js'
import { type CertificateDefect, type DefectCode, defect } from './defects.js'
import type { KeyStrength } from './key-strength.js'

/** A leaf with what is known about it. */
export interface Leaf {
  readonly file: string
  readonly chain: Chain
  /** Of its key. */
  readonly strength: KeyStrength
  readonly names: readonly string[]
  readonly issuer: string
}

/** The defects of the leaf itself. */
export function leafDefects(leaf: Leaf): CertificateDefect[] {
  const { file } = leaf
  return checks.flatMap(([code, find]) => {
    const found = find(leaf)
    if (found === false) return []
    return [defect(code, found === true ? { file } : { file, message: found })]
  })
}

/** Whether a leaf has the defect; a text says so more exactly than the table. */
type Check = (leaf: Leaf) => boolean | string

const namesMax = 100
const serverPurposes: readonly string[] = ['1.3.6.1.5.5.7.3.1', '2.5.29.37.0']

const checks: readonly (readonly [DefectCode, Check])[] = [
  ['name_cn_only', ({ chain }) => !chain.links[0].details.hasNames],
  ['names_too_many', ({ names }) => names.length > namesMax && `the certificate has ${names.length} names`],
  ['wildcard_too_broad', ({ names }) => names.some((name) => /^\*\.[^.]+$/.test(name))],
  ['purpose_not_server', ({ chain }) => isForOthers(chain.links[0])],
  ['key_usage_not_signing', ({ chain }) => chain.links[0].details.keyUsage?.digitalSignature === false],
  ['leaf_is_ca', ({ chain }) => chain.links[0].details.isCa && !chain.isSelfSigned],
  ['key_uncommon', ({ strength }) => uncommonKey(strength)],
  ['must_staple', ({ chain }) => chain.links[0].details.mustStaple],
  ['issuer_staging', ({ issuer }) => /\(STAGING\)|\bFake LE\b|\bfake CA\b|\bPebble\b/i.test(issuer)],
  ['self_signed', ({ chain }) => chain.isSelfSigned],
  ['lifetime_over_limit', ({ chain }) => overLimit(chain.links[0])],
]

function isForOthers({ details: { purposes } }: ChainLink): boolean {
  return purposes !== undefined && !purposes.some((purpose) => serverPurposes.includes(purpose))
}

function uncommonKey({ verdict, what }: KeyStrength): false | string {
  return verdict === 'uncommon' && `browsers and CDNs mostly cannot use ${what}`
}

const dayMs = 86_400_000

/** Ballot SC-081v3: from when on which lifetime is the longest. */
const lifetimeLimits: readonly { readonly fromMs: number; readonly days: number }[] = [
  { fromMs: Date.UTC(2029, 2, 15), days: 47 },
  { fromMs: Date.UTC(2027, 2, 15), days: 100 },
  { fromMs: Date.UTC(2026, 2, 15), days: 200 },
  { fromMs: Date.UTC(2020, 8, 1), days: 398 },
]

/** Policies by which a public authority says that it follows the Forum's rules; private ones may issue for any time. */
const publicPolicies: ReadonlySet<string> = new Set([
  '2.23.140.1.1',
  '2.23.140.1.2.1',
  '2.23.140.1.2.2',
  '2.23.140.1.2.3',
])

function overLimit({ details, notBeforeMs, notAfterMs }: ChainLink): false | string {
  const limit = lifetimeLimits.find(({ fromMs }) => notBeforeMs >= fromMs)
  if (limit === undefined || !details.policies.some((policy) => publicPolicies.has(policy))) return false
  // Both ends are included, so a certificate of exactly 200 days lasts a second more than it seems (BR §6.3.2).
  const lifetimeMs = notAfterMs - notBeforeMs + 1_000
  if (lifetimeMs <= limit.days * dayMs) return false
  const days = Math.ceil(lifetimeMs / dayMs)
  return `the certificate lasts ${days} days; public authorities may issue it for ${limit.days}`
}
