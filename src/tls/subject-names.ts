// Reads the subject alternative names out of a certificate's DER. Used by certificate-parse.ts.
// Node gives them as one quoted string only, which has been a way to smuggle names in (CVE-2021-44532).
import { isIP, SocketAddress } from 'node:net'
import { extension, readExtensions } from './certificate-details.js'
import { derChildren } from './der.js'

/** DNS names in lower case and IP addresses in canonical form; the common name is never one. RFC 5280 §4.2.1.6. */
export function readSubjectNames(certificateDer: Buffer): string[] {
  const names = readExtensions(certificateDer).get(extension.subjectAltName)
  return derChildren(names).flatMap(({ tag, content }) => {
    if (tag === generalNameDns) return [content.toString('latin1').toLowerCase()]
    return tag === generalNameIp ? addressText(content) : []
  })
}

/** One spelling for each address: `::1` for `0:0:0:0:0:0:0:1`; other text is returned as it is. */
export function canonicalAddress(address: string): string {
  return isIP(address) === 6 ? new SocketAddress({ address, family: 'ipv6' }).address : address
}

const generalNameDns = 0x82
const generalNameIp = 0x87

/** The address that the bytes of a name are; none where they are of no known length. */
export function addressText(content: Buffer): string[] {
  if (content.length === 4) return [content.join('.')]
  if (content.length !== 16) return []
  return [canonicalAddress(content.toString('hex').replace(/(.{4})(?!$)/g, '$1:'))]
}
