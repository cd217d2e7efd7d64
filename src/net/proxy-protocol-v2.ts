// The layout of a version 2 PROXY header (HAProxy's proxy-protocol.txt §2.2), and the header that we send to endpoints.
// Used by senders, and by the decoder for the layout. Pure.

import { type IpEndpoint, ipv4Bytes, ipv6Bytes, mapped, parseIp } from './ip-address.js'

/** The twelve bytes that every version 2 header starts with: no request and no ClientHello can. */
export const signatureV2 = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')

/** Signature, version and command, family and transport, length of the rest. */
export const headBytesV2 = signatureV2.length + 4

/** The high half of the byte behind the signature. */
export const versionV2 = 2

/** The low half of that byte: the sender speaks for itself, or for the client it names. */
export const CommandV2 = { local: 0, proxy: 1 } as const

/** The high half of the byte behind version and command. */
export const FamilyV2 = { unspecified: 0, ipv4: 1, ipv6: 2, unix: 3 } as const

/** The low half of that byte. */
export const TransportV2 = { unspecified: 0, stream: 1, datagram: 2 } as const

/** Who connected to whom, as a PROXY header says it. */
export interface ProxiedAddresses {
  readonly source: IpEndpoint
  readonly destination: IpEndpoint
}

const portBytes = 2

/**
 * The header to send before the first byte of a connection: the client's addresses, or `local` for a connection of our
 * own (health checks). Two families are written as IPv6. What is no IP address (a Unix socket's) makes it `local`.
 */
export function encodeProxyV2(sent: ProxiedAddresses | 'local'): Buffer {
  if (sent === 'local') return headOf({ command: CommandV2.local, familyAndTransport: 0, restBytes: 0 })
  const source = parseIp(sent.source.address)
  const destination = parseIp(sent.destination.address)
  if (source === undefined || destination === undefined) return encodeProxyV2('local')
  const isIpv4 = source.length === ipv4Bytes && destination.length === ipv4Bytes
  const family = isIpv4 ? FamilyV2.ipv4 : FamilyV2.ipv6
  const ports = Buffer.alloc(2 * portBytes)
  ports.writeUInt16BE(sent.source.port, 0)
  ports.writeUInt16BE(sent.destination.port, portBytes)
  const addresses = isIpv4 ? [source, destination] : [mapped(source), mapped(destination)]
  const head = headOf({
    command: CommandV2.proxy,
    familyAndTransport: (family << 4) | TransportV2.stream,
    restBytes: 2 * (isIpv4 ? ipv4Bytes : ipv6Bytes) + ports.length,
  })
  return Buffer.concat([head, ...addresses, ports])
}

function headOf(parts: { command: number; familyAndTransport: number; restBytes: number }): Buffer {
  const head = Buffer.alloc(headBytesV2)
  signatureV2.copy(head)
  head[12] = (versionV2 << 4) | parts.command
  head[13] = parts.familyAndTransport
  head.writeUInt16BE(parts.restBytes, 14)
  return head
}
