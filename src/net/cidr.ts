// Ranges of IP addresses as people write them, and sets of them that are asked at every connection. Used wherever the
// configuration lists addresses, and for files of thousands of ranges. Pure; names are never resolved.

import { formatIp, ipv4Bytes, ipv6Bytes, parseIp } from './ip-address.js'
import type { Parsed } from './parsed.js'

/** A block of addresses of one family; IPv4 mapped into IPv6 is IPv4. */
export interface Cidr {
  /** The first and the last address, 4 or 16 bytes each. */
  readonly first: Buffer
  readonly last: Buffer
}

/** Reads "192.0.2.0/24", "2001:db8::/32" or a single address. */
export function parseCidr(raw: string): Parsed<Cidr> {
  const slash = raw.indexOf('/')
  const literal = slash === -1 ? raw : raw.slice(0, slash)
  const address = parseIp(literal)
  if (address === undefined) return { mistake: 'is not an IP address or a range', hint: addressHint(raw) }
  if (slash === -1) return { value: { first: address, last: address } }
  // An IPv4 address that is written as IPv6 counts its prefix from there.
  const surplusBits = 8 * (literal.includes(':') ? ipv6Bytes - address.length : 0)
  const bitsMax = 8 * address.length + surplusBits
  const bits = prefixBits(raw.slice(slash + 1), bitsMax)
  if (bits === undefined || bits < surplusBits) {
    const hint = `write "${literal}/N", with N from ${surplusBits} to ${bitsMax}`
    return { mistake: `has the prefix ${JSON.stringify(raw.slice(slash + 1))}, which is not a number of bits`, hint }
  }
  const range = rangeOf(address, bits - surplusBits)
  if (range.first.equals(address)) return { value: range }
  return {
    mistake: 'has bits set behind its prefix',
    hint: `write "${formatIp(range.first)}/${bits - surplusBits}", or "${literal}" for the one address`,
  }
}

/** Something that an address is in or not. */
export interface AddressTest {
  /** Asks for a literal, in any spelling; what is none is in nothing. */
  has(address: string): boolean
}

/** What is in any of some sets; of none, nothing is. */
export function unionOf(sets: readonly AddressTest[]): AddressTest {
  const [only] = sets
  return only !== undefined && sets.length === 1 ? only : { has: (address) => sets.some((set) => set.has(address)) }
}

/** Whether an address is in any of some ranges; logarithmic in their number. */
export class AddressSet implements AddressTest {
  readonly #ipv4: RangeTable
  readonly #ipv6: RangeTable

  constructor(ranges: Iterable<Cidr>) {
    const all = [...ranges]
    this.#ipv4 = new RangeTable(all, ipv4Bytes)
    this.#ipv6 = new RangeTable(all, ipv6Bytes)
  }

  has(address: string): boolean {
    const bytes = parseIp(address)
    if (bytes === undefined) return false
    return (bytes.length === ipv4Bytes ? this.#ipv4 : this.#ipv6).has(bytes)
  }
}

/** The ranges of one family, sorted and apart from each other, packed so that tens of thousands cost no objects. */
class RangeTable {
  readonly #width: number
  readonly #firsts: Buffer
  readonly #lasts: Buffer

  constructor(all: readonly Cidr[], width: number) {
    const ranges = merge(all.filter(({ first }) => first.length === width))
    this.#width = width
    this.#firsts = Buffer.concat(ranges.map(({ first }) => first))
    this.#lasts = Buffer.concat(ranges.map(({ last }) => last))
  }

  has(address: Buffer): boolean {
    const width = this.#width
    let low = 0
    let high = this.#firsts.length / width
    // Ends with `low` behind the last range that begins at the address or before it.
    while (low < high) {
      const middle = (low + high) >>> 1
      if (address.compare(this.#firsts, middle * width, (middle + 1) * width) < 0) high = middle
      else low = middle + 1
    }
    return low > 0 && address.compare(this.#lasts, (low - 1) * width, low * width) <= 0
  }
}

/** In order, without those that lie within another: CIDR blocks overlap in no other way. */
function merge(ranges: readonly Cidr[]): readonly Cidr[] {
  const sorted = ranges.toSorted((a, b) => Buffer.compare(a.first, b.first) || Buffer.compare(b.last, a.last))
  const kept: Cidr[] = []
  for (const range of sorted) {
    const before = kept.at(-1)
    if (before === undefined || Buffer.compare(range.last, before.last) > 0) kept.push(range)
  }
  return kept
}

function prefixBits(digits: string, bitsMax: number): number | undefined {
  const bits = /^(?:0|[1-9]\d{0,2})$/.test(digits) ? Number(digits) : undefined
  return bits !== undefined && bits <= bitsMax ? bits : undefined
}

function rangeOf(address: Buffer, bits: number): Cidr {
  const first = Buffer.alloc(address.length)
  const last = Buffer.alloc(address.length)
  for (const [index, byte] of address.entries()) {
    const hostBits = 0xff >> Math.min(Math.max(bits - 8 * index, 0), 8)
    first[index] = byte & ~hostBits
    last[index] = byte | hostBits
  }
  return { first, last }
}

function addressHint(raw: string): string {
  if (/^\[.*\]/.test(raw)) return `write it without brackets: "${raw.replace(/[[\]]/g, '')}"`
  if (raw.includes('%')) return 'write it without a zone'
  if (/(?:^|\.)0\d/.test(raw)) return 'write the numbers without leading zeros'
  if (raw.includes('*') || raw.includes('-')) return 'write the range with a prefix, like "192.0.2.0/24"'
  return 'write it like "192.0.2.0/24", "2001:db8::/32" or "192.0.2.7"; names are not looked up'
}
