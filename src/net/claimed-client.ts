// The client's address in a request header that a proxy in front has written: one address, a list of hops, or RFC 7239's
// `Forwarded`. Pure; what cannot be read without doubt is no address, and what a client can have written is not looked at.

import { isIPv4, isIPv6 } from 'node:net'
import type { AddressTest } from './cidr.js'
import { formatIp, parseIp } from './ip-address.js'

/** Why a header says nothing of the client that could be believed. */
export type ClaimMistake = 'missing' | 'duplicated' | 'malformed' | 'not_an_address' | 'too_many_hops'

/** The client, in the one spelling of its address, or why nobody can tell. */
export type ClaimedClient = { readonly address: string } | { readonly mistake: ClaimMistake }

/** Which addresses in a list are proxies that are passed over. */
export interface TrustedHops {
  readonly from: AddressTest
  /** Passed over at most; a list that begins with more is not believed. */
  readonly hopsMax: number
}

/** Reads the values of all lines of a header. */
export type ClaimReader = (values: readonly string[], hops: TrustedHops) => ClaimedClient

const missing: ClaimedClient = { mistake: 'missing' }
const duplicated: ClaimedClient = { mistake: 'duplicated' }
const malformed: ClaimedClient = { mistake: 'malformed' }
const notAnAddress: ClaimedClient = { mistake: 'not_an_address' }
const tooManyHops: ClaimedClient = { mistake: 'too_many_hops' }

/** Headers with one address: `CF-Connecting-IP`, `True-Client-IP`, `X-Real-IP`, … Of two lines one is a stranger's. */
export const readSingleAddress: ClaimReader = (values) => {
  const [value] = values
  if (value === undefined) return missing
  if (values.length > 1) return duplicated
  return readNode(value)
}

/**
 * `X-Forwarded-For`: each proxy appends the address that it was asked from. So the list is read from its end, past the
 * proxies that are trusted, to the first address that none of them is; where all of them are, to the first of all.
 */
export const readForwardedFor: ClaimReader = (values, hops) => {
  return readList(values, { hops, startOf: (value, end) => value.lastIndexOf(',', end - 1) + 1, read: readNode })
}

/** `Forwarded` (RFC 7239), read the same way. */
export const readForwarded: ClaimReader = (values, hops) => {
  return readList(values, { hops, startOf: forwardedElementStart, read: readForwardedElement })
}

interface ListForm {
  readonly hops: TrustedHops
  /** Where the element begins that ends before `end`. */
  readonly startOf: (value: string, end: number) => number
  readonly read: (element: string) => ClaimedClient
}

function readList(values: readonly string[], { hops, startOf, read }: ListForm): ClaimedClient {
  let client = missing
  let passed = 0
  for (let index = values.length - 1; index >= 0; index--) {
    const value = values[index] as string
    for (let end = value.length; end >= 0; ) {
      const start = end === 0 ? 0 : startOf(value, end)
      client = read(withoutBlanks(value.slice(start, end)))
      if ('mistake' in client || !hops.from.has(client.address)) return client
      if (++passed > hops.hopsMax) return tooManyHops
      end = start - 1
    }
  }
  return client
}

const portPattern = /:(?:\d{1,5}|_[\w.-]{1,64})$/

/** An address, IPv6 in brackets or not, with a port or without one. */
function readNode(text: string): ClaimedClient {
  return isIPv6(text) ? addressOf(text) : readBracketed(text)
}

/** The same where IPv6 has to stand in brackets. */
function readBracketed(text: string): ClaimedClient {
  if (text.length > nodeLengthMax) return notAnAddress
  const node = text.replace(portPattern, '')
  if (isIPv4(node)) return { address: node }
  const literal = node.startsWith('[') && node.endsWith(']') ? node.slice(1, -1) : ''
  return isIPv6(literal) ? addressOf(literal) : notAnAddress
}

const nodeLengthMax = 128

function addressOf(literal: string): ClaimedClient {
  const bytes = parseIp(literal)
  return bytes === undefined ? notAnAddress : { address: formatIp(bytes) }
}

// From the right, quotes counted: what a client has put in front of a proxy's element, an open quote even, changes nothing.
// Within a quoted text of the proxy's own every quote has a backslash, which no element may hold that is read here.
function forwardedElementStart(value: string, end: number): number {
  let isQuoted = false
  for (let at = end - 1; at >= 0; at--) {
    const code = value.charCodeAt(at)
    if (code === quote) isQuoted = !isQuoted
    else if (code === comma && !isQuoted) return at + 1
  }
  return 0
}

const quote = 0x22
const comma = 0x2c

const pairPattern = /[ \t]*([!#$%&'*+.^_`|~\dA-Za-z-]+)=(?:([!#$%&'*+.^_`|~\dA-Za-z-]+)|"([^"\\]*)")[ \t]*(;|$)/y

function readForwardedElement(element: string): ClaimedClient {
  let node: string | undefined
  let isOpen = true
  pairPattern.lastIndex = 0
  while (isOpen) {
    const pair = pairPattern.exec(element)
    if (pair === null) return malformed
    const [, name = '', token, quoted, end] = pair
    if (name.toLowerCase() === 'for') {
      if (node !== undefined) return malformed
      node = token ?? quoted
    }
    isOpen = end === ';'
  }
  // RFC 7239 §6: IPv6 stands in brackets; `unknown` and `_hidden` are sound, and no addresses.
  return node === undefined ? malformed : readBracketed(node)
}

// Not `trim`, which takes a no-break space too.
function withoutBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
