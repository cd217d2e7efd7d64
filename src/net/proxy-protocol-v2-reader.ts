// Reads a version 2 PROXY header, which is binary (HAProxy's proxy-protocol.txt §2.2). Used for bytes that begin with
// its signature. Judges every byte as it comes, and never waits for more than the bound.

import { formatIp, ipv4Bytes, ipv6Bytes } from './ip-address.js'
import type { ProxyHeader, ProxyMistake, ProxyVerdict } from './proxy-protocol-header.js'
import { noExtensions, readExtensions } from './proxy-protocol-tlv.js'
import { CommandV2, FamilyV2, headBytesV2, type ProxiedAddresses, TransportV2, versionV2 } from './proxy-protocol-v2.js'

/** The most that may follow the first 16 bytes; real headers stay below 1 KiB, other servers stop at 4 KiB too. */
const restBytesMax = 4096

const portBytes = 2
const unixPathBytes = 108

/** Bytes of both addresses with their ports, by family. */
const addressBytes = [0, 2 * (ipv4Bytes + portBytes), 2 * (ipv6Bytes + portBytes), 2 * unixPathBytes] as const

/** Judges bytes that begin with the signature. */
export function readVersion2(bytes: Buffer): ProxyVerdict {
  const mistake = mistakeOfHead(bytes)
  if (mistake !== undefined) return malformed(mistake)
  if (bytes.length < headBytesV2) return { kind: 'incomplete', bytesNeeded: bytes.length + 1 }
  const byteCount = headBytesV2 + restBytesOf(bytes)
  if (bytes.length < byteCount) return { kind: 'incomplete', bytesNeeded: byteCount }
  return judgeWhole(bytes.subarray(0, byteCount))
}

/** What the first 16 bytes get wrong, in their order, as far as they have come. */
function mistakeOfHead(bytes: Buffer): ProxyMistake | undefined {
  if (bytes.length <= 12) return undefined
  if ((bytes[12] as number) >> 4 !== versionV2) return 'proxy_v2_version'
  const command = commandOf(bytes)
  if (command !== CommandV2.local && command !== CommandV2.proxy) return 'proxy_v2_command'
  const isLocal = command === CommandV2.local
  if (bytes.length > 13 && !isLocal && familyOf(bytes) > FamilyV2.unix) return 'proxy_v2_family'
  if (bytes.length > 13 && !isLocal && transportOf(bytes) > TransportV2.datagram) return 'proxy_v2_transport'
  if (bytes.length < headBytesV2) return undefined
  if (restBytesOf(bytes) > restBytesMax) return 'proxy_v2_too_long'
  return !isLocal && restBytesOf(bytes) < addressBytesOf(bytes) ? 'proxy_v2_addresses' : undefined
}

function judgeWhole(header: Buffer): ProxyVerdict {
  const silent = { version: 2, byteCount: header.length, claim: undefined, extensions: noExtensions } as const
  // Nothing behind the head of a LOCAL header can be relied on: the health checks of AWS announce IPv4 addresses and
  // send none, so that a walk would read extensions as addresses.
  if (commandOf(header) === CommandV2.local || !isStream(header)) return found(silent)
  const extensions = readExtensions(header, headBytesV2 + addressBytesOf(header))
  return typeof extensions === 'string'
    ? malformed(extensions)
    : found({ ...silent, claim: readClaim(header), extensions })
}

/** Where family or transport is unspecified, or not what arrives here, the specification has us use the socket's addresses. */
function isStream(header: Buffer): boolean {
  return familyOf(header) !== FamilyV2.unspecified && transportOf(header) === TransportV2.stream
}

function readClaim(header: Buffer): ProxiedAddresses | undefined {
  if (familyOf(header) === FamilyV2.unix) return undefined
  const ipBytes = familyOf(header) === FamilyV2.ipv4 ? ipv4Bytes : ipv6Bytes
  const ports = headBytesV2 + 2 * ipBytes
  const ipAt = (offset: number): string => formatIp(header.subarray(offset, offset + ipBytes))
  return {
    source: { address: ipAt(headBytesV2), port: header.readUInt16BE(ports) },
    destination: { address: ipAt(headBytesV2 + ipBytes), port: header.readUInt16BE(ports + portBytes) },
  }
}

function commandOf(bytes: Buffer): number {
  return (bytes[12] as number) & 0xf
}

function familyOf(bytes: Buffer): number {
  return (bytes[13] as number) >> 4
}

function transportOf(bytes: Buffer): number {
  return (bytes[13] as number) & 0xf
}

function restBytesOf(bytes: Buffer): number {
  return bytes.readUInt16BE(14)
}

function addressBytesOf(bytes: Buffer): number {
  return addressBytes[familyOf(bytes)] ?? 0
}

function found(header: ProxyHeader): ProxyVerdict {
  return { kind: 'header', header }
}

function malformed(mistake: ProxyMistake): ProxyVerdict {
  return { kind: 'malformed', mistake }
}
