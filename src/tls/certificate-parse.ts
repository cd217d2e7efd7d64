// Proves a pair of files and says everything about it as plain values. Used by certificate-source.ts, wherever that
// runs. Every rule is checked here, because createSecureContext accepts a missing certificate, an empty key and a key of
// another type without a word.
import type { KeyObject } from 'node:crypto'
import type { CertificateFacts, IntermediateFacts, ProvedPair } from './certificate.js'
import { type Chain, chainDefects, chainOf, isCorrupt, subjectOf } from './chain.js'
import type { ChainLink, ChainLinks } from './chain-link.js'
import { type CertificateDefect, defect } from './defects.js'
import { keyStrength } from './key-strength.js'
import { leafDefects } from './leaf-defects.js'
import { oncePerCertificate } from './once-per-certificate.js'
import { writePem } from './pem.js'
import { readCertificates } from './pem-certificates.js'
import { readKey, type ServerKey } from './private-key.js'
import { readSubjectNames } from './subject-names.js'

/** A pair as read, with the names that people know the files by. */
export interface PairBytes {
  readonly certFile: string
  readonly keyFile: string
  readonly certBytes: Uint8Array
  readonly keyBytes: Uint8Array
}

/** What a pair of files is: proved, or refused for its defects, with what the certificate says where it can be read. */
export type ParsedPair =
  | { readonly kind: 'proved'; readonly pair: ProvedPair }
  | {
      readonly kind: 'refused'
      readonly defects: readonly CertificateDefect[]
      readonly leaf: LeafOnDisk | undefined
    }

/** The certificate of a pair that cannot be served. */
export type LeafOnDisk = Pick<CertificateFacts, 'notBeforeMs' | 'notAfterMs' | 'fingerprint256'>

/** Proves a pair. A pure function of its bytes: dates are compared with no clock here. */
export function parsePair(pair: PairBytes): ParsedPair {
  const links = readCertificates(pair.certFile, Buffer.from(pair.certBytes))
  const publicKeyInfo = 'code' in links ? undefined : links[0].details.publicKeyInfo
  const key = readKey(pair.keyFile, Buffer.from(pair.keyBytes), publicKeyInfo)
  if ('code' in links) return { kind: 'refused', defects: 'code' in key ? [links, key] : [links], leaf: undefined }
  const leaf = leafOnDisk(links[0])
  if ('code' in key) return { kind: 'refused', defects: [key], leaf }
  const mismatch = keyMismatch(pair, links, key)
  if (mismatch !== undefined) return { kind: 'refused', defects: [mismatch], leaf }
  const chain = chainOf(links)
  const corruption = isCorrupt(chain) ? [defect('signature_invalid', { file: pair.certFile })] : []
  const refusals = [...corruption, ...weaknesses(pair.certFile, chain)]
  if (refusals.length > 0) return { kind: 'refused', defects: refusals, leaf }
  return { kind: 'proved', pair: { facts: factsOf(pair, chain, key), keyPem: key.pem } }
}

function leafOnDisk({ notBeforeMs, notAfterMs, fingerprint256 }: ChainLink): LeafOnDisk {
  return { notBeforeMs, notAfterMs, fingerprint256 }
}

function keyMismatch(pair: PairBytes, links: ChainLinks, { object }: ServerKey): CertificateDefect | undefined {
  if (object === undefined) return undefined
  const position = links.findIndex((link) => isKeyOf(object, link))
  if (position === 0) return undefined
  const place = `certificate ${position + 1} of ${links.length}`
  if (position > 0) {
    const message = `the key belongs to ${place} in the file, not to the first`
    return defect('leaf_not_first', { file: pair.certFile, message })
  }
  const message = `the private key does not belong to the certificate in ${pair.certFile}`
  return defect('key_mismatch', { file: pair.keyFile, message })
}

function isKeyOf(key: KeyObject, link: ChainLink): boolean {
  try {
    return link.x509.checkPrivateKey(key)
  } catch {
    // OpenSSL does not read what an authority has signed.
    return false
  }
}

/**
 * What some runtimes serve and others refuse, so we do. A signature of one's own proves nothing and may be weak. The key of
 * the leaf has been judged with its private half.
 */
function weaknesses(file: string, { links }: Chain): CertificateDefect[] {
  return links.flatMap((link, index) => {
    const { weakSignature } = link.details
    const which = `certificate ${index + 1} of ${links.length}`
    const key = index === 0 ? undefined : weakKey(link)
    const isWeaklySigned = weakSignature !== undefined && link.issuer !== link.x509.subject
    return [
      ...(isWeaklySigned
        ? [defect('signature_weak', { file, message: `${which} is signed with ${weakSignature}` })]
        : []),
      ...(key === undefined ? [] : [defect('key_weak', { file, message: `${which} has ${key}: too weak for TLS` })]),
    ]
  })
}

const weakKey = oncePerCertificate(({ x509 }): string | undefined => {
  try {
    const { verdict, what } = keyStrength(x509.publicKey)
    return verdict === 'weak' ? what : undefined
  } catch {
    // A key of a kind that this runtime does not know, in the chain: clients may.
    return undefined
  }
})

const pemOf = oncePerCertificate(({ der }) => writePem('CERTIFICATE', der))

function factsOf({ certFile, keyFile }: PairBytes, chain: Chain, key: ServerKey): CertificateFacts {
  const { links, issuers } = chain
  const [leaf] = links
  const names = readSubjectNames(leaf.der)
  // Node gives undefined for an empty name, whatever its types say.
  const issuer = (leaf.issuer as string | undefined)?.replaceAll('\n', ', ') ?? ''
  return {
    certFile,
    keyFile,
    names,
    issuer,
    ...leafOnDisk(leaf),
    serial: leaf.serial,
    keyType: key.type,
    renewalId: renewalId(leaf),
    chain: links.map(pemOf),
    intermediates: issuers.filter(({ isRoot }) => !isRoot).map(({ link }) => intermediateFacts(link)),
    warnings: [
      ...leafDefects({ file: certFile, chain, strength: key.strength, names, issuer }),
      ...chainDefects(certFile, chain),
    ],
  }
}

// One object for all leaves: of the same object, a message between threads has one copy.
const intermediateFacts = oncePerCertificate((link): IntermediateFacts => {
  return { ...leafOnDisk(link), subject: subjectOf(link), serial: link.serial }
})

/** RFC 9773 §4.1. */
function renewalId({ details: { authorityKeyId, serialBytes } }: ChainLink): string | undefined {
  return authorityKeyId && `${authorityKeyId.toString('base64url')}.${serialBytes.toString('base64url')}`
}
