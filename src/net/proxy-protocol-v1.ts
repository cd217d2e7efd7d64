// Reads a version 1 PROXY header, a line of text (HAProxy's proxy-protocol.txt §2.1). Used for bytes that begin with its
// signature. Stricter than the usual receivers: an address has one spelling, fields are parted by one space.

import { formatIp, type IpEndpoint, parseIp } from './ip-address.js'
import type { ProxyMistake, ProxyVerdict } from './proxy-protocol-header.js'
import { noExtensions } from './proxy-protocol-tlv.js'
import type { ProxiedAddresses } from './proxy-protocol-v2.js'

/** What every version 1 header begins with. */
export const signatureV1 = Buffer.from('PROXY ')

/** The longest line that the specification allows, its end included. */
const lineBytesMax = 107
const carriageReturn = 0x0d
const lineFeed = 0x0a
const portMax = 65_535

/** Judges bytes that begin with {@link signatureV1}. */
export function readVersion1(bytes: Buffer): ProxyVerdict {
  const textEnd = endOfText(bytes)
  if (textEnd === lineBytesMax) return malformed('proxy_v1_line')
  if (textEnd === bytes.length) return incomplete(bytes, textEnd + 1)
  // A lone CR or LF, NUL or other control ends the text too, and is no line end.
  if (bytes[textEnd] !== carriageReturn || textEnd + 1 === lineBytesMax) return malformed('proxy_v1_line')
  const next = bytes[textEnd + 1]
  if (next === undefined) return incomplete(bytes, textEnd + 2)
  if (next !== lineFeed) return malformed('proxy_v1_line')
  return judgeLine(bytes.toString('latin1', signatureV1.length, textEnd), textEnd + 2)
}

/** The offset of the first byte that is not visible ASCII or a space, as far as a line may reach. */
function endOfText(bytes: Buffer): number {
  const length = Math.min(bytes.length, lineBytesMax)
  for (let at = signatureV1.length; at < length; at++) {
    const byte = bytes[at] as number
    if (byte < 0x20 || byte > 0x7e) return at
  }
  return length
}

function judgeLine(text: string, byteCount: number): ProxyVerdict {
  const claim = text === 'UNKNOWN' || text.startsWith('UNKNOWN ') ? undefined : readClaim(text)
  if (typeof claim === 'string') return malformed(claim)
  return { kind: 'header', header: { version: 1, byteCount, claim, extensions: noExtensions } }
}

function readClaim(text: string): ProxiedAddresses | ProxyMistake {
  const fields = text.split(' ')
  const [family, sourceAddress = '', destinationAddress = '', sourcePort = '', destinationPort = ''] = fields
  if (family !== 'TCP4' && family !== 'TCP6') return 'proxy_v1_family'
  if (fields.length !== 5) return 'proxy_v1_fields'
  const isIpv6 = family === 'TCP6'
  // nginx writes the client's IPv6 address beside its own IPv4 one where the two hops differ. It is the client's
  // family that counts, and that one is not negotiable.
  const destinationIsIpv6 = isIpv6 && destinationAddress.includes(':')
  const source = readEndpoint({ address: sourceAddress, port: sourcePort, isIpv6 })
  const destination = readEndpoint({ address: destinationAddress, port: destinationPort, isIpv6: destinationIsIpv6 })
  if (typeof source === 'string') return source
  return typeof destination === 'string' ? destination : { source, destination }
}

function readEndpoint(field: { address: string; port: string; isIpv6: boolean }): IpEndpoint | ProxyMistake {
  const bytes = parseIp(field.address)
  if (bytes === undefined || field.address.includes(':') !== field.isIpv6) return 'proxy_v1_address'
  if (!/^(?:0|[1-9]\d{0,4})$/.test(field.port) || Number(field.port) > portMax) return 'proxy_v1_port'
  return { address: formatIp(bytes), port: Number(field.port) }
}

function incomplete(bytes: Buffer, bytesNeeded: number): ProxyVerdict {
  return { kind: 'incomplete', bytesNeeded: Math.max(bytesNeeded, bytes.length + 1) }
}

function malformed(mistake: ProxyMistake): ProxyVerdict {
  return { kind: 'malformed', mistake }
}
