// IP addresses between text and bytes, so that ranges can be compared and headers written. Pure; names are never
// resolved, and an IPv4 address mapped into IPv6 is IPv4 everywhere.

import { isIPv4, isIPv6 } from 'node:net'

/** An address and a port, as sockets and PROXY headers have them. */
export interface IpEndpoint {
  /** Without brackets and zone. */
  readonly address: string
  readonly port: number
}

export const ipv4Bytes = 4
export const ipv6Bytes = 16

const groupCount = 8
const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')

/** The 4 or 16 bytes of a literal; undefined for all else: names, zones, brackets, leading zeros, fewer than four decimals. */
export function parseIp(text: string): Buffer | undefined {
  if (isIPv4(text)) return Buffer.from(text.split('.').map(Number))
  return isIPv6(text) && !text.includes('%') ? unmapped(parseGroups(text)) : undefined
}

/** The one spelling of 4 or 16 bytes: four decimals, or IPv6 as RFC 5952 compresses it. */
export function formatIp(bytes: Buffer): string {
  const plain = unmapped(bytes)
  return plain.length === ipv4Bytes ? plain.join('.') : formatGroups(plain)
}

/** The 16 bytes of either family, IPv4 mapped into IPv6. */
export function mapped(bytes: Buffer): Buffer {
  return bytes.length === ipv4Bytes ? Buffer.concat([mappedPrefix, bytes]) : bytes
}

/** The 4 bytes of an IPv4 address that is mapped into IPv6; all others as they are. */
function unmapped(bytes: Buffer): Buffer {
  const isMapped = bytes.length === ipv6Bytes && bytes.subarray(0, mappedPrefix.length).equals(mappedPrefix)
  return isMapped ? bytes.subarray(mappedPrefix.length) : bytes
}

/** Reads what `isIPv6` found sound. */
function parseGroups(text: string): Buffer {
  const [head = '', tail] = text.split('::')
  const leading = groupsOf(head)
  const trailing = tail === undefined ? [] : groupsOf(tail)
  const bytes = Buffer.alloc(ipv6Bytes)
  for (const [index, group] of leading.entries()) bytes.writeUInt16BE(group, 2 * index)
  for (const [index, group] of trailing.entries())
    bytes.writeUInt16BE(group, 2 * (groupCount - trailing.length + index))
  return bytes
}

function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

function formatGroups(bytes: Buffer): string {
  const groups = Array.from({ length: groupCount }, (_, index) => bytes.readUInt16BE(2 * index).toString(16))
  const { start, length } = longestZeroRun(groups)
  if (length < 2) return groups.join(':')
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`
}

// RFC 5952 §4.2: the longest run of zero groups is left out, the first of equals, and never a single group.
function longestZeroRun(groups: readonly string[]): { start: number; length: number } {
  let longest = { start: 0, length: 0 }
  let start = 0
  for (const [index, group] of groups.entries()) {
    if (group !== '0') start = index + 1
    else if (index + 1 - start > longest.length) longest = { start, length: index + 1 - start }
  }
  return longest
}
