// The one spelling of a host name that SNI, Host, `:authority` and the configuration are compared in. Pure; the first
// function runs once per request and handshake. It never repairs: what is no plain host is undefined.

import { isIPv4, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import type { Parsed } from './parsed.js'

const nameBytesMax = 253
const labelBytesMax = 63
const portMax = 65535
const rawBytesMax = nameBytesMax + '.:65535'.length

const dot = 0x2e
const isNameCode = new Uint8Array(128)
for (const character of 'abcdefghijklmnopqrstuvwxyz0123456789-_') isNameCode[character.charCodeAt(0)] = 1

/**
 * The name of a Host, `:authority` or SNI: lower case, without port and one trailing dot; undefined for all else.
 *
 * Names are ASCII labels of 1 to 63 letters, digits, `-` and `_` (real sites have underscores), 253 bytes in all. A
 * name that ends in a number is an IPv4 address and must be four plain decimals: `010.0.0.1`, `127.1` and `0x7f.1` mean
 * different machines to different readers, so they are nobody's. IPv6 literals need brackets and lose them, are
 * compressed (RFC 5952, always in hexadecimal), and have no zone. A port is at most 65535; RFC 9110 allows an empty one.
 */
export function normalizeHostname(raw: string): string | undefined {
  return isNormalName(raw) ? raw : normalizeUnusualHostname(raw)
}

/** A site's pattern as configured, in the spelling of {@link normalizeHostname}: a name, `*.` before a name, or an IP literal. */
export function normalizeSitePattern(raw: string): Parsed<string> {
  if (raw === '') return { mistake: 'is empty' }
  if (raw === '*')
    return { mistake: 'would catch every host', hint: 'there is no catch-all, on purpose: list the names' }
  if (raw.includes('/')) return { mistake: 'is not a host name', hint: 'write the name alone, without scheme and path' }
  return raw.startsWith('*.') ? normalizeWildcard(raw.slice(2)) : normalizeExact(raw)
}

// One pass over the character codes, no allocation: nearly every Host comes in this spelling already.
function isNormalName(name: string): boolean {
  return hasNameSyntax(name) && !isDigit(name.charCodeAt(name.lastIndexOf('.') + 1))
}

function hasNameSyntax(name: string): boolean {
  const length = name.length
  if (length > nameBytesMax) return false
  let labelStart = 0
  for (let index = 0; index < length; index++) {
    const code = name.charCodeAt(index)
    if (code === dot) {
      if (!isLabelLength(index - labelStart)) return false
      labelStart = index + 1
    } else if (code > 127 || isNameCode[code] === 0) return false
  }
  return isLabelLength(length - labelStart)
}

function isLabelLength(length: number): boolean {
  return length > 0 && length <= labelBytesMax
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function normalizeUnusualHostname(raw: string): string | undefined {
  // Before lower-casing: U+212A (the Kelvin sign) becomes an ASCII k there.
  if (raw.length > rawBytesMax || !isVisibleAscii(raw)) return undefined
  if (raw.startsWith('[')) return normalizeBracketed(raw)
  const colon = raw.indexOf(':')
  if (colon !== -1 && !isPort(raw.slice(colon + 1))) return undefined
  const host = (colon === -1 ? raw : raw.slice(0, colon)).toLowerCase()
  return nameOrIpv4(host.endsWith('.') ? host.slice(0, -1) : host)
}

function isVisibleAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code <= 0x20 || code >= 0x7f) return false
  }
  return true
}

function isPort(digits: string): boolean {
  return /^\d{0,5}$/.test(digits) && Number(digits) <= portMax
}

function nameOrIpv4(host: string): string | undefined {
  if (isNormalName(host) || isIPv4(host)) return host
  return hasNameSyntax(host) && !endsInNumber(host) ? host : undefined
}

// The rule of the URL Standard ("ends in a number"): what a client might read as an address is no name.
function endsInNumber(name: string): boolean {
  return /^(?:\d+|0x[0-9a-f]*)$/.test(name.slice(name.lastIndexOf('.') + 1))
}

function normalizeBracketed(raw: string): string | undefined {
  const close = raw.indexOf(']')
  const rest = raw.slice(close + 1)
  if (close === -1 || (rest !== '' && !(rest.startsWith(':') && isPort(rest.slice(1))))) return undefined
  return compressIpv6(raw.slice(1, close))
}

function compressIpv6(literal: string): string | undefined {
  if (!isIPv6(literal) || literal.includes('%')) return undefined
  return new URL(`http://[${literal}]`).hostname.slice(1, -1)
}

function normalizeWildcard(rest: string): Parsed<string> {
  const base = normalizeExact(rest)
  if ('mistake' in base) return base
  if (isIPv4(base.value) || isIPv6(base.value)) return { mistake: 'has a wildcard before an address' }
  return { value: `*.${base.value}` }
}

function normalizeExact(raw: string): Parsed<string> {
  if (raw.includes('*')) {
    return {
      mistake: 'has a wildcard that is not one leading label',
      hint: 'write "*.example.com": it stands for one label',
    }
  }
  const literal = compressIpv6(raw.startsWith('[') && raw.endsWith(']') ? raw.slice(1, -1) : raw)
  if (literal !== undefined) return { value: literal }
  if (raw.includes(':')) return { mistake: 'has a port', hint: 'a site answers on every port that its listeners bind' }
  const name = normalizeHostname(toAscii(raw))
  return name === undefined ? { mistake: `is not a host name: ${whyNoName(raw)}` } : { value: name }
}

const oddCharacter = /[^A-Za-z0-9._\-\u0080-\u{10ffff}]/u

// The conversion reads a URL, where `/`, `?`, `#`, `%` and white space have meanings of their own; none may reach it.
function toAscii(raw: string): string {
  return oddCharacter.test(raw) || isVisibleAscii(raw) ? raw : domainToASCII(raw)
}

function whyNoName(raw: string): string {
  const odd = oddCharacter.exec(raw)
  if (odd !== null) return /\s/.test(odd[0]) ? 'it contains white space' : `it contains ${JSON.stringify(odd[0])}`
  const ascii = toAscii(raw)
  if (ascii === '' && raw !== '') return 'it is no international name either'
  const labels = ascii.replace(/\.$/, '').split('.')
  if (labels.includes('')) return 'it has an empty label'
  if (labels.some((label) => label.length > labelBytesMax)) return `a label is longer than ${labelBytesMax} bytes`
  if (ascii.length > nameBytesMax) return `it is longer than ${nameBytesMax} bytes`
  return 'it ends in a number, but is no IPv4 address of four plain decimals'
}
