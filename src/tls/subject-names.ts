// Reads the subject alternative names out of a certificate's DER. Used by certificate-parse.ts.
// Node gives them as one quoted string only, which has been a way to smuggle names in (CVE-2021-44532).
import { isIP, SocketAddress } from 'node:net'

/** DNS names in lower case and IP addresses in canonical form; the common name is never one. RFC 5280 §4.2.1.6. */
export function readSubjectNames(certificateDer: Buffer): string[] {
  const extension = subjectAltNameExtension(certificateDer)
  if (extension === undefined) return []
  return children(firstChild(extension)).flatMap(({ tag, content }) => {
    if (tag === generalNameDns) return [content.toString('latin1').toLowerCase()]
    return tag === generalNameIp ? addressText(content) : []
  })
}

/** One spelling for each address: `::1` for `0:0:0:0:0:0:0:1`; other text is returned as it is. */
export function canonicalAddress(address: string): string {
  return isIP(address) === 6 ? new SocketAddress({ address, family: 'ipv6' }).address : address
}

interface Element {
  readonly tag: number
  readonly content: Buffer
}

const generalNameDns = 0x82
const generalNameIp = 0x87
const explicitExtensions = 0xa3
const objectIdentifier = 0x06
const octetString = 0x04
const subjectAltName = Buffer.from([0x55, 0x1d, 0x11])

/** The extension's value: Certificate → TBSCertificate → [3] → SEQUENCE of extensions → OCTET STRING. */
function subjectAltNameExtension(certificateDer: Buffer): Buffer | undefined {
  const toBeSigned = firstChild(firstChild(certificateDer))
  const wrapper = children(toBeSigned).find(({ tag }) => tag === explicitExtensions)
  if (wrapper === undefined) return undefined
  for (const extension of children(firstChild(wrapper.content))) {
    const fields = children(extension.content)
    const isWanted = fields.some(({ tag, content }) => tag === objectIdentifier && content.equals(subjectAltName))
    if (isWanted) return fields.find(({ tag }) => tag === octetString)?.content
  }
  return undefined
}

function addressText(content: Buffer): string[] {
  if (content.length === 4) return [content.join('.')]
  if (content.length !== 16) return []
  return [canonicalAddress(content.toString('hex').replace(/(.{4})(?!$)/g, '$1:'))]
}

function firstChild(der: Buffer): Buffer {
  return children(der)[0]?.content ?? Buffer.alloc(0)
}

/** The elements that stand side by side in `der`. OpenSSL has parsed it before, so lengths fit; subarray clips. */
function children(der: Buffer): Element[] {
  const found: Element[] = []
  let offset = 0
  while (offset + 2 <= der.length) {
    const { length, headerBytes } = elementLength(der, offset)
    const start = offset + headerBytes
    found.push({ tag: der.readUInt8(offset), content: der.subarray(start, start + length) })
    offset = start + length
  }
  return found
}

function elementLength(der: Buffer, offset: number): { length: number; headerBytes: number } {
  const first = der.readUInt8(offset + 1)
  if (first < 0x80) return { length: first, headerBytes: 2 }
  const lengthBytes = first & 0x7f
  if (lengthBytes === 0 || lengthBytes > 4 || offset + 2 + lengthBytes > der.length) {
    return { length: der.length, headerBytes: 2 }
  }
  return { length: der.readUIntBE(offset + 2, lengthBytes), headerBytes: 2 + lengthBytes }
}
