// What a client showed in its handshake, read: its own certificate, those sent with it, and by what it may be pinned.
// Used by the judgement of clients; the bytes are the client's, so nothing here throws.
import { isIP } from 'node:net'
import { extension, readExtensions } from './certificate-details.js'
import { subjectOf } from './chain.js'
import { type ChainLink, readLink } from './chain-link.js'
import { derChildren } from './der.js'
import { addressText, canonicalAddress } from './subject-names.js'

/** A client's certificate and what came with it. */
export interface ClientCertificate {
  readonly leaf: ChainLink
  readonly sent: readonly ChainLink[]
  /** SHA-256, hexadecimal in lower case. */
  readonly fingerprint: string
  /** On one line; empty where the certificate names nobody. */
  readonly subject: string
  /** Subject alternative names of all kinds that can be pinned, in the spelling of `pinnedName`. */
  readonly names: readonly string[]
}

/** Reads a chain of DER, the client's own first; undefined where that cannot be read. Of the others, what can be is taken. */
export function readClientCertificate([own, ...others]: readonly Buffer[]): ClientCertificate | undefined {
  const leaf = own === undefined ? 'none' : readLink(own)
  if (typeof leaf === 'string') return undefined
  return {
    leaf,
    sent: others.map((der) => readLink(der)).filter((link) => typeof link !== 'string'),
    fingerprint: leaf.x509.fingerprint256.replaceAll(':', '').toLowerCase(),
    // Node gives undefined for an empty name, whatever its types say.
    subject: (leaf.x509.subject as string | undefined) === undefined ? '' : subjectOf(leaf),
    names: namesOf(leaf),
  }
}

/** A name that is pinned, with its kind before it: an address, a URI, a mail address, or else a host. */
export function pinnedName(name: string): string {
  if (name.includes('://')) return `uri:${name}`
  if (name.includes('@')) return `mail:${mailAddress(name)}`
  return isIP(name) === 0 ? `dns:${name.toLowerCase()}` : `ip:${canonicalAddress(name)}`
}

const generalName = { mail: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const

// With their kinds, or a DNS name that looks like an address would pass for it.
function namesOf({ x509 }: ChainLink): string[] {
  return derChildren(readExtensions(x509.raw).get(extension.subjectAltName)).flatMap(({ tag, content }) => {
    const text = content.toString('latin1')
    if (tag === generalName.dns) return [`dns:${text.toLowerCase()}`]
    if (tag === generalName.mail) return [`mail:${mailAddress(text)}`]
    if (tag === generalName.uri) return [`uri:${text}`]
    return tag === generalName.ip ? addressText(content).map((address) => `ip:${address}`) : []
  })
}

/** The part behind the last @ is a host, without case. */
function mailAddress(text: string): string {
  const at = text.lastIndexOf('@')
  return `${text.slice(0, at)}${text.slice(at).toLowerCase()}`
}
