// How the certificates of a file hang together, without knowing the client's roots. Used by certificate-parse.ts.
// Each signature costs a tenth of a millisecond to verify, so names and key identifiers are compared first.

import type { ChainLink, ChainLinks } from './chain-link.js'
import { type CertificateDefect, type DefectCode, defect } from './defects.js'
import { oncePerCertificate } from './once-per-certificate.js'

/** A certificate that has issued another one of its file. */
export interface Issuer {
  readonly link: ChainLink
  readonly issued: ChainLink
  /** Authorities between it and the leaf (RFC 5280 §4.2.1.9). */
  readonly authoritiesBelow: number
  readonly isRoot: boolean
}

/** A file's certificates, sorted by what they are to the leaf. */
export interface Chain {
  readonly links: ChainLinks
  readonly isSelfSigned: boolean
  /** The nearest first; cross-signed ones stand side by side. */
  readonly issuers: readonly Issuer[]
  readonly repeated: readonly ChainLink[]
  readonly strangers: readonly ChainLink[]
}

/** Follows the issuers from the leaf upwards. */
export function chainOf(links: ChainLinks): Chain {
  const [leaf, ...others] = links
  const isFirst = (link: ChainLink): boolean => links.find((each) => each.der.equals(link.der)) === link
  const repeated = others.filter((link) => !isFirst(link))
  let strangers = others.filter(isFirst)
  const issuers: Issuer[] = []
  for (const [subject, authoritiesBelow] of walk(leaf, issuers)) {
    const found = strangers.filter((link) => isIssuedBy(subject, link))
    issuers.push(...found.map((link) => ({ link, issued: subject, authoritiesBelow, isRoot: isIssuedBy(link, link) })))
    strangers = strangers.filter((link) => !found.includes(link))
    if (strangers.length === 0) break
  }
  // What another one has signed under a name of its own has not signed itself.
  const isSelfSigned = leaf.signer === undefined && isIssuedBy(leaf, leaf)
  return { links, isSelfSigned, issuers, repeated, strangers }
}

/** The leaf and then every issuer that is found meanwhile, each with how many authorities stand below its own issuer. */
function* walk(leaf: ChainLink, issuers: readonly Issuer[]): Iterable<[ChainLink, number]> {
  yield [leaf, 0]
  for (const { link, authoritiesBelow } of issuers) yield [link, authoritiesBelow + 1]
}

/** A chain of today has two to four; each more is paid for in every handshake. */
const linksMax = 10

/** What is wrong with the certificates behind the first one; all of it is served nevertheless. */
export function chainDefects(file: string, chain: Chain): CertificateDefect[] {
  const { links, issuers, repeated, strangers } = chain
  const [leaf] = links
  const about = (code: DefectCode, those: readonly ChainLink[]): CertificateDefect[] => {
    return those.map((link) => defect(code, { file, message: messageOf(code, link, links) }))
  }
  const which = (wanted: (issuer: Issuer) => boolean): ChainLink[] => issuers.filter(wanted).map(({ link }) => link)
  const isTooLong = links.length > linksMax
  return [
    ...about('chain_incomplete', issuers.length === 0 && !chain.isSelfSigned ? [leaf] : []),
    ...about('chain_too_long', isTooLong ? [leaf] : []),
    ...about(
      'chain_wrong_order',
      which(({ link, issued }) => links.indexOf(link) < links.indexOf(issued)),
    ),
    ...about('chain_duplicate', repeated),
    ...about('chain_unrelated', isTooLong ? strangers.slice(0, 1) : strangers),
    // A root that has issued the leaf itself is all the chain there is.
    ...about(
      'chain_contains_root',
      which(({ isRoot, issued }) => isRoot && issued !== leaf),
    ),
    ...about(
      'intermediate_expires_first',
      which(({ link, isRoot }) => !isRoot && link.notAfterMs < leaf.notAfterMs),
    ),
    ...about(
      'intermediate_not_ca',
      which(({ link }) => !link.details.isCa),
    ),
    ...about(
      'intermediate_key_usage',
      which(({ link }) => link.details.keyUsage?.certificateSigning === false),
    ),
    ...about('intermediate_path_length', which(hasTooManyBelow)),
  ]
}

function hasTooManyBelow({ link, authoritiesBelow }: Issuer): boolean {
  const { pathLength } = link.details
  return pathLength !== undefined && authoritiesBelow > pathLength
}

const sentences: Partial<Record<DefectCode, string>> = {
  chain_wrong_order: 'stands before the one that it has issued',
  chain_duplicate: 'stands in the file twice',
  chain_unrelated: 'has issued none of the others',
  chain_contains_root: 'is a root: clients have it or do not trust it',
  intermediate_expires_first: 'ends before the leaf does',
  intermediate_not_ca: 'has issued another one and is no authority (CA:FALSE)',
  intermediate_key_usage: 'has issued another one with a key that must not sign certificates',
  intermediate_path_length: 'has more authorities below it than it allows',
}

function messageOf(code: DefectCode, link: ChainLink, links: ChainLinks): string | undefined {
  const sentence = sentences[code]
  if (sentence === undefined) return undefined
  return `certificate ${links.indexOf(link) + 1} of ${links.length} (${subjectOf(link)}) ${sentence}`
}

/** The subject's name on one line. */
export function subjectOf({ x509 }: ChainLink): string {
  // Node gives undefined for an empty name, whatever its types say.
  return (x509.subject as string | undefined)?.replaceAll('\n', ', ') ?? 'without a name'
}

/**
 * Whether the issuer of the leaf stands in the file, by its name and by the identifier of its key, and has not signed the leaf:
 * its bytes are of two certificates, as when one is written over another in place.
 */
export function isCorrupt({ links: [leaf], issuers, strangers }: Chain): boolean {
  return issuers.length === 0 && strangers.some((link) => isNamedBy(leaf, link) && sameKey(leaf, link) === true)
}

// Not checkIssued: it wants the right to sign certificates, which a self-signed server certificate does not have.
function isIssuedBy(subject: ChainLink, issuer: ChainLink): boolean {
  if (sameKey(subject, issuer) === false || !isNamedBy(subject, issuer)) return false
  return signersOf(subject)(issuer)
}

const signersOf = oncePerCertificate((subject) => oncePerCertificate((issuer) => isSignedBy(subject, issuer)))

function isSignedBy(subject: ChainLink, issuer: ChainLink): boolean {
  if (subject.signer === issuer.details) return true
  try {
    return subject.x509.verify(issuer.x509.publicKey)
  } catch {
    // A key of a kind that this runtime does not know (they grow in number) cannot be asked; the name has to do.
    return true
  }
}

function isNamedBy(subject: ChainLink, issuer: ChainLink): boolean {
  return subject.issuer === issuer.x509.subject
}

/** Undefined where one of them does not say. */
function sameKey({ details: { authorityKeyId } }: ChainLink, { details }: ChainLink): boolean | undefined {
  if (authorityKeyId === undefined || details.subjectKeyId === undefined) return undefined
  return authorityKeyId.equals(details.subjectKeyId)
}
