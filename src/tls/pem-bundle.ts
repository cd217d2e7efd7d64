// Reads a bundle of certificates block by block, all or nothing. Used for authorities of clients and of upstreams, and for
// certificates shown to upstreams: OpenSSL's loader takes an empty bundle for "the public roots" and drops what follows a bad block.

import { type ChainLink, readLink } from './chain-link.js'
import { readPem } from './pem.js'

/** What keeps a bundle from use. */
export interface BundleMistake {
  readonly message: string
  readonly hint: string
}

/** The certificates of a bundle, at least one. Half a bundle is none: whom it forgets would be found out in production. */
export function readBundle(text: string): readonly ChainLink[] | BundleMistake {
  if (text.trim() === '') return { message: 'the file is empty', hint: 'is it still being written?' }
  const { blocks, isTruncated } = readPem(Buffer.from(text, 'latin1'))
  if (isTruncated || blocks.length !== countOf(text, 'BEGIN') || blocks.length !== countOf(text, 'END')) {
    return { message: 'a PEM block of the file does not begin or end as it should', hint: 'is the file complete?' }
  }
  const [first] = blocks
  if (first === undefined) {
    return { message: 'the file holds no PEM certificate', hint: 'expected -----BEGIN CERTIFICATE-----' }
  }
  const links: ChainLink[] = []
  for (const [index, { label, text: pem }] of blocks.entries()) {
    const which = `block ${index + 1} of ${blocks.length}`
    if (label !== 'CERTIFICATE') {
      return { message: `${which} is no certificate: ${label}`, hint: 'put certificates alone into the file' }
    }
    const link = readLink(pem)
    if (typeof link === 'string') {
      return {
        message: `${which} cannot be used: ${link}`,
        hint: 'look at it with: openssl x509 -text -noout -in FILE',
      }
    }
    links.push(link)
  }
  return links
}

// A marker that lost a dash is no marker to the reader, who would leave its block out as a comment.
function countOf(text: string, marker: 'BEGIN' | 'END'): number {
  return text.split('\n').filter((line) => line.startsWith('-') && line.includes(`${marker} `)).length
}
