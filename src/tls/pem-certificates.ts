// From the bytes of a certificate file to its certificates, or to the one defect that keeps it from use. Used by
// certificate-parse.ts. Every block is read here, because OpenSSL's loader drops what follows a bad one without a word.
import { type ChainLink, type ChainLinks, readLink } from './chain-link.js'
import { type CertificateDefect, defect } from './defects.js'
import { readIssuedLeaf } from './issued-leaf.js'
import { readPem } from './pem.js'
import { RecentTexts } from './recent-texts.js'

/** Reads all certificates of a file; one that cannot be parsed spoils the whole. */
export function readCertificates(file: string, bytes: Buffer): ChainLinks | CertificateDefect {
  if (bytes.length === 0) return defect('cert_empty', { file })
  const { blocks, isTruncated } = readPem(bytes)
  if (isTruncated) return defect('cert_truncated', { file })
  const texts = blocks.filter(({ label }) => label === 'CERTIFICATE').map(({ text }) => text)
  const links: ChainLink[] = []
  for (const [index, link] of linksOf(texts).entries()) {
    if (typeof link === 'string') {
      return defect('cert_invalid', { file, message: `certificate ${index + 1} of ${texts.length}: ${link}` })
    }
    links.push(link)
  }
  const [leaf, ...others] = links
  if (leaf !== undefined) return [leaf, ...others]
  const hasKey = blocks.some(({ label }) => label.endsWith('PRIVATE KEY'))
  return defect(
    'cert_not_pem',
    hasKey ? { file, message: 'the file holds a private key and no certificate' } : { file },
  )
}

/** More than stand in any usual file. */
const usualAuthoritiesMax = 3

function linksOf([first, ...rest]: readonly string[]): (ChainLink | string)[] {
  if (first === undefined) return []
  const others = rest.map(readAuthority)
  const sound = others.filter((link) => typeof link !== 'string')
  const issued = rest.length > usualAuthoritiesMax ? undefined : readIssuedLeaf(first, sound)
  return [issued ?? readLink(first), ...others]
}

/** Some sites have one of their own, most share one of a few. */
const authoritiesMax = 256
const authorities = new RecentTexts(authoritiesMax, readLink)

// A copy of what is known: a certificate that stands in a file twice is two links.
function readAuthority(pem: string): ChainLink | string {
  const link = authorities.get(pem)
  return typeof link === 'string' ? link : { ...link }
}
