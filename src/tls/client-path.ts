// A bounded path check of our own, from a client's certificate to a root: for policies that OpenSSL was not asked about in
// the handshake. Used by the judgement of clients. It refuses what it does not understand; it is never kinder than RFC 5280.
import { type ExtensionMark, extensionMarks } from './certificate-extensions.js'
import { subjectOf } from './chain.js'
import type { ChainLink } from './chain-link.js'
import { isRoot } from './client-trust.js'
import { isValidAt } from './expiry.js'
import { keyStrength } from './key-strength.js'

/** Why no path leads to a root; `expired` also stands for what is not valid yet. */
export interface PathRefusal {
  readonly reason: 'invalid' | 'expired'
  readonly detail: string
}

/** What a path may be made of, and when. */
export interface PathOptions {
  /** What the client sent behind its own certificate, in any order. */
  readonly sent: readonly ChainLink[]
  readonly authorities: readonly ChainLink[]
  readonly nowMs: number
}

/** Authorities between a leaf and its root. */
export const intermediatesMax = 3
/** Verifications of one check: each costs a fifth of a millisecond, and the client chooses what there is to verify. */
export const signaturesMax = 16

/** Undefined where a path leads from `leaf` to one of the roots; else the first objection that was met. */
export function pathRefusal(leaf: ChainLink, options: PathOptions): PathRefusal | undefined {
  const objection = objectionTo(leaf, options.nowMs) ?? objectionToLeaf(leaf)
  return objection ?? new PathSearch(options).refusalOf(leaf)
}

/** One search, with what it has spent. */
class PathSearch {
  readonly #options: PathOptions
  readonly #candidates: readonly ChainLink[]
  readonly #roots: ReadonlySet<string>
  #signatures = 0
  #refusal: PathRefusal | undefined

  constructor(options: PathOptions) {
    this.#options = options
    this.#candidates = [...options.authorities, ...options.sent]
    this.#roots = new Set(options.authorities.filter(isRoot).map(fingerprintOf))
  }

  refusalOf(leaf: ChainLink): PathRefusal | undefined {
    if (this.#leadsToRoot([leaf])) return undefined
    return this.#refusal ?? invalid(`nobody that is trusted has issued ${subjectOf(leaf)}`)
  }

  /** `path` ends in the certificate whose issuer is looked for. */
  #leadsToRoot(path: readonly ChainLink[]): boolean {
    const subject = path[path.length - 1] as ChainLink
    if (this.#isTrustedRoot(subject)) return true
    return this.#candidates.some((issuer) => this.#continues(path, subject, issuer))
  }

  #continues(path: readonly ChainLink[], subject: ChainLink, issuer: ChainLink): boolean {
    if (subject.x509.issuer !== issuer.x509.subject || path.includes(issuer)) return false
    const refusal = this.#refusalToStep(path, subject, issuer)
    if (refusal === undefined) return this.#leadsToRoot([...path, issuer])
    this.#refusal ??= refusal
    return false
  }

  #refusalToStep(path: readonly ChainLink[], subject: ChainLink, issuer: ChainLink): PathRefusal | undefined {
    if (!this.#isTrustedRoot(issuer) && path.length > intermediatesMax) {
      return invalid(`more than ${intermediatesMax} authorities stand between the certificate and a root`)
    }
    const objection = objectionTo(issuer, this.#options.nowMs) ?? objectionToIssuer(issuer, path)
    if (objection !== undefined) return objection
    if (this.#signatures >= signaturesMax) return invalid(`more than ${signaturesMax} signatures would be verified`)
    this.#signatures += 1
    return isSignedBy(subject, issuer)
      ? undefined
      : invalid(`${subjectOf(issuer)} has not signed ${subjectOf(subject)}`)
  }

  #isTrustedRoot(link: ChainLink): boolean {
    return this.#roots.has(fingerprintOf(link))
  }
}

function fingerprintOf({ x509 }: ChainLink): string {
  return x509.fingerprint256
}

function isSignedBy({ x509 }: ChainLink, issuer: ChainLink): boolean {
  try {
    return x509.verify(issuer.x509.publicKey)
  } catch {
    return false
  }
}

function invalid(detail: string): PathRefusal {
  return { reason: 'invalid', detail }
}

const clientAuth = '1.3.6.1.5.5.7.3.2'
const anyPurpose = '2.5.29.37.0'
const nameConstraints = '2.5.29.30'
/** Those whose meaning is checked here, or in the judgement of pins; policies bind only those who demand one. */
const understood: ReadonlySet<string> = new Set([
  '2.5.29.15', // key usage
  '2.5.29.17', // subject alternative name
  '2.5.29.19', // basic constraints
  '2.5.29.32', // certificate policies
  '2.5.29.37', // extended key usage
])

/** What is wrong with any certificate of a path. */
function objectionTo(link: ChainLink, nowMs: number): PathRefusal | undefined {
  const name = subjectOf(link)
  if (!isValidAt(link, nowMs)) return { reason: 'expired', detail: `${name} is not valid at this time` }
  const { weakSignature } = link.details
  if (weakSignature !== undefined && !isRoot(link)) return invalid(`${name} is signed with ${weakSignature}`)
  const strength = strengthOf(link)
  if (strength !== undefined) return invalid(`${name} has ${strength}`)
  return objectionToExtensions(name, extensionMarks(link.x509.raw))
}

/** What kind of weak key it is; undefined for a strong one. */
function strengthOf({ x509 }: ChainLink): string | undefined {
  try {
    const { verdict, what } = keyStrength(x509.publicKey)
    return verdict === 'weak' || verdict === 'unsupported' ? what : undefined
  } catch {
    return 'a key that this runtime does not know'
  }
}

function objectionToExtensions(name: string, marks: readonly ExtensionMark[] | undefined): PathRefusal | undefined {
  if (marks === undefined) return invalid(`${name} is not strict DER`)
  if (new Set(marks.map(({ identifier }) => identifier)).size < marks.length) {
    return invalid(`${name} has an extension twice`)
  }
  // Whether critical or not: who ignores them lets an authority sign for names that it was not given.
  if (marks.some(({ identifier }) => identifier === nameConstraints)) return invalid(`${name} has name constraints`)
  const unknown = marks.find(({ identifier, isCritical }) => isCritical && !understood.has(identifier))
  return unknown && invalid(`${name} has the unknown critical extension ${unknown.identifier}`)
}

/** RFC 5280 §4.2.1.3 and §4.2.1.12: the key signs handshakes, of clients. */
function objectionToLeaf(link: ChainLink): PathRefusal | undefined {
  const { keyUsage, purposes } = link.details
  if (keyUsage?.digitalSignature === false) return invalid(`the key of ${subjectOf(link)} must not sign`)
  if (purposes === undefined || purposes.includes(clientAuth)) return undefined
  return invalid(`${subjectOf(link)} is not for clients`)
}

/** RFC 5280 §6.1.4 k to n; `path` is what it stands above. */
function objectionToIssuer(link: ChainLink, path: readonly ChainLink[]): PathRefusal | undefined {
  const { isCa, keyUsage, pathLength, purposes } = link.details
  const name = subjectOf(link)
  if (!isCa) return invalid(`${name} is no authority`)
  if (keyUsage?.certificateSigning === false) return invalid(`the key of ${name} must not sign certificates`)
  const below = path.slice(1).filter(({ x509 }) => x509.subject !== x509.issuer).length
  if (pathLength !== undefined && below > pathLength) return invalid(`${name} has too many authorities below it`)
  if (purposes === undefined || purposes.includes(clientAuth) || purposes.includes(anyPurpose)) return undefined
  return invalid(`${name} is not for clients`)
}
