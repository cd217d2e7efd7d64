// Whom a site trusts to issue client certificates: a bundle of authorities, proved whole. Used by client policies and by
// the contexts of their handshakes; near its end an authority is watched like a certificate.
import { createHash } from 'node:crypto'
import { subjectOf } from './chain.js'
import type { ChainLink } from './chain-link.js'
import { type BundleMistake, readBundle } from './pem-bundle.js'

/** A set of authorities. */
export interface ClientTrust {
  /** Equal for equal sets, whatever the order and the files. */
  readonly id: string
  /** Roots, and authorities below them that clients may leave out. */
  readonly authorities: readonly ChainLink[]
}

/** The names of all authorities are sent in each handshake, in a list of 64 KiB at most (RFC 8446 §4.2.4). */
const authoritiesMax = 100

/** Reads a bundle of authorities, of which at least one is a root. */
export function readClientTrust(text: string): ClientTrust | BundleMistake {
  const links = readBundle(text)
  if ('message' in links) return links
  for (const [index, link] of links.entries()) {
    if (isAuthority(link)) continue
    return {
      message: `certificate ${index + 1} of ${links.length} (${subjectOf(link)}) is no authority`,
      hint: 'name the authority that issued it under ca, and the certificate itself under allow.fingerprints',
    }
  }
  const authorities = [...new Map(links.map((link) => [link.x509.fingerprint256, link])).values()]
  if (authorities.length > authoritiesMax) {
    return {
      message: `the file holds more than ${authoritiesMax} authorities`,
      hint: 'name those of the clients alone',
    }
  }
  if (!authorities.some(isRoot)) {
    return { message: 'the file holds no root, so no chain ends in it', hint: 'add the self-signed root of the chain' }
  }
  return { id: idOf(authorities), authorities }
}

/** Whether a certificate is signed by itself, and so the end of a chain. */
export function isRoot({ x509 }: ChainLink): boolean {
  try {
    return x509.checkIssued(x509) && x509.verify(x509.publicKey)
  } catch {
    // A key of a kind that this runtime does not know can sign nothing here.
    return false
  }
}

function isAuthority({ details }: ChainLink): boolean {
  return details.isCa && details.keyUsage?.certificateSigning !== false
}

function idOf(authorities: readonly ChainLink[]): string {
  const fingerprints = authorities.map(({ x509 }) => x509.fingerprint256).sort()
  return createHash('sha256').update(fingerprints.join()).digest('hex')
}
