// Reads what a version 2 PROXY header says behind its addresses: type, length, value (HAProxy's proxy-protocol.txt
// §2.2.1 to §2.2.8). Used by the reader of version 2. All of it is a claim of the sender: nothing is routed by it.

import { crc32c } from './crc32c.js'
import { normalizeHostname } from './hostname.js'
import type { ProxiedTls, ProxyExtensions, ProxyMistake } from './proxy-protocol-header.js'

/** Of a header that has none. */
export const noExtensions: ProxyExtensions = { ignoredCount: 0 }

const Type = {
  alpn: 0x01,
  authority: 0x02,
  checksum: 0x03,
  padding: 0x04,
  uniqueId: 0x05,
  tls: 0x20,
  namespace: 0x30,
} as const
const TlsType = { version: 0x21, commonName: 0x22 } as const
const TlsFlag = { isUsed: 0x01, showedCertificate: 0x02 | 0x04 } as const

const headBytes = 3
const authorityBytesMax = 255
const uniqueIdBytesMax = 128
const checksumBytes = 4
const tlsHeadBytes = 5

/** Reads a whole header from `offset` to its end, or tells what is wrong with it. */
export function readExtensions(header: Buffer, offset: number): ProxyExtensions | ProxyMistake {
  const walked = walk(header, offset)
  if (walked === undefined || isTooLong(walked)) return 'proxy_v2_extensions'
  if (!isIntact(header, walked)) return 'proxy_v2_checksum'
  const { values, repeated } = walked
  const tls = readTls(values.get(Type.tls))
  if (tls === 'malformed') return 'proxy_v2_extensions'
  const name = values.get(Type.authority)
  const authority = name && normalizeHostname(name.toString('latin1'))
  return {
    ...present('alpn', values.get(Type.alpn)),
    ...present('authority', authority),
    ...present('uniqueId', values.get(Type.uniqueId)),
    ...present('tls', tls),
    ...present('namespace', values.get(Type.namespace)?.toString('latin1')),
    ignoredCount: repeated.length + (name !== undefined && authority === undefined ? 1 : 0),
  }
}

interface Walked {
  /** The first of each type. */
  readonly values: ReadonlyMap<number, Buffer>
  /** The types of those that came again. */
  readonly repeated: readonly number[]
}

/** Cuts bytes into values that fill them exactly; undefined where they do not. */
function walk(bytes: Buffer, start: number): Walked | undefined {
  const values = new Map<number, Buffer>()
  const repeated: number[] = []
  let offset = start
  while (offset < bytes.length) {
    if (bytes.length - offset < headBytes) return undefined
    const type = bytes[offset] as number
    const valueStart = offset + headBytes
    offset = valueStart + bytes.readUInt16BE(offset + 1)
    if (offset > bytes.length) return undefined
    if (values.has(type) && type !== Type.padding) repeated.push(type)
    else values.set(type, bytes.subarray(valueStart, offset))
  }
  return { values, repeated }
}

function isTooLong({ values }: Walked): boolean {
  const lengthOf = (type: number): number => values.get(type)?.length ?? 0
  return lengthOf(Type.authority) > authorityBytesMax || lengthOf(Type.uniqueId) > uniqueIdBytesMax
}

/** Whether the checksum, where there is one, is that of the header with zeros in its place; two would be ambiguous. */
function isIntact(header: Buffer, { values, repeated }: Walked): boolean {
  const sent = values.get(Type.checksum)
  if (sent === undefined) return true
  if (sent.length !== checksumBytes || repeated.includes(Type.checksum)) return false
  const start = sent.byteOffset - header.byteOffset
  const before = crc32c(Buffer.alloc(checksumBytes), crc32c(header.subarray(0, start)))
  return crc32c(header.subarray(start + checksumBytes), before) === sent.readUInt32BE(0)
}

function readTls(bytes: Buffer | undefined): ProxiedTls | undefined | 'malformed' {
  if (bytes === undefined) return undefined
  if (bytes.length < tlsHeadBytes) return 'malformed'
  const walked = walk(bytes, tlsHeadBytes)
  if (walked === undefined) return 'malformed'
  const flags = bytes[0] as number
  const textOf = (type: number): string | undefined => walked.values.get(type)?.toString('utf8')
  return {
    isUsed: (flags & TlsFlag.isUsed) !== 0,
    // Zero means "no objection", which is also said where no certificate was shown.
    hasProvenCertificate: (flags & TlsFlag.showedCertificate) !== 0 && bytes.readUInt32BE(1) === 0,
    ...present('version', textOf(TlsType.version)),
    ...present('commonName', textOf(TlsType.commonName)),
  }
}

function present<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]?: Value })
}
