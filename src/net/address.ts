// Addresses as people write them (listeners, upstreams, redirects) and as the log shows them. Pure: nothing is resolved.

import { isIPv6 } from 'node:net'
import { normalizeHostname } from './hostname.js'
import type { IpEndpoint } from './ip-address.js'
import type { Parsed } from './parsed.js'

const portMax = 65535

/** Where a listener binds. */
export interface BindAddress {
  /** A normalised name or IP literal without brackets; undefined binds every address of the machine, IPv6 and IPv4. */
  readonly host: string | undefined
  /** 0 asks the system for a free port. */
  readonly port: number
}

/** The machine behind `http://` or `https://`. */
export interface Origin {
  readonly scheme: 'http' | 'https'
  /** A normalised name or IP literal without brackets. */
  readonly host: string
  readonly port: number
}

/** Reads `host:port`, `[v6]:port` or `:port`. */
export function parseBind(raw: string): Parsed<BindAddress> {
  const parts = splitPort(raw)
  if ('mistake' in parts) return parts
  const { host, port } = parts.value
  if (port === undefined) return { mistake: 'has no port', hint: portHint(raw) }
  if (host === '') return { value: { host: undefined, port } }
  const name = normalizeHostname(host)
  return name === undefined ? { mistake: notAHost(host) } : { value: { host: name, port } }
}

/** Reads `http://host[:port]` or `https://host[:port]`: no path, query, fragment or credentials; the port defaults to the scheme's. */
export function parseOrigin(raw: string): Parsed<Origin> {
  const match = /^(https?):\/\/(.*)$/is.exec(raw)
  if (match === null) return { mistake: 'is not an http:// or https:// URL', hint: schemeHint(raw, 'https') }
  const [, scheme = '', authority = ''] = match
  if (authority.includes('@')) return { mistake: 'has credentials, which are not supported' }
  const surplus = /[/?#]/.exec(authority)
  if (surplus !== null) return surplusPart(raw, surplus[0])
  const parts = splitPort(authority)
  if ('mistake' in parts) return parts
  const host = normalizeHostname(parts.value.host)
  if (host === undefined) return { mistake: notAHost(parts.value.host) }
  if (parts.value.port === 0) return { mistake: 'has port 0, which nobody listens on' }
  const isTls = scheme.toLowerCase() === 'https'
  return { value: { scheme: isTls ? 'https' : 'http', host, port: parts.value.port ?? (isTls ? 443 : 80) } }
}

/** `ip:port`, `[v6]:port`; an IPv4 address mapped into IPv6 is shown as IPv4, a zone is left off. */
export function formatAddress(ip: string, port: number): string {
  const plain = plainAddress(ip)
  return plain.includes(':') ? `[${plain}]:${port}` : `${plain}:${port}`
}

/** What `formatAddress` has written; the port is 0 where there is none. */
export function splitAddress(text: string): IpEndpoint {
  const end = text.startsWith('[') ? text.indexOf(']') : text.indexOf(':')
  if (text.startsWith('[')) return { address: text.slice(1, end), port: Number(text.slice(end + 2)) }
  // Without brackets more than one colon is an IPv6 address alone.
  if (end === -1 || text.includes(':', end + 1)) return { address: text, port: 0 }
  return { address: text.slice(0, end), port: Number(text.slice(end + 1)) }
}

/** An address as sockets report it, without zone, and as IPv4 where it is IPv4 mapped into IPv6. */
export function plainAddress(ip: string): string {
  if (ip.startsWith('::ffff:') && ip.includes('.')) return ip.slice('::ffff:'.length)
  const zone = ip.indexOf('%')
  return zone === -1 ? ip : ip.slice(0, zone)
}

interface HostAndPort {
  readonly host: string
  readonly port: number | undefined
}

function splitPort(raw: string): Parsed<HostAndPort> {
  if (isIPv6(raw)) return { mistake: 'is an IPv6 address without brackets', hint: 'write it like "[::1]:443"' }
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::(.*))?$/s.exec(raw)
  if (match === null) return { mistake: 'is not host:port', hint: 'an IPv6 address needs brackets: "[::1]:443"' }
  const [, host = '', digits] = match
  if (digits === undefined) return { value: { host, port: undefined } }
  if (!/^\d{1,5}$/.test(digits) || Number(digits) > portMax) {
    return { mistake: `has the port ${JSON.stringify(digits)}, which is not a number from 0 to ${portMax}` }
  }
  return { value: { host, port: Number(digits) } }
}

function notAHost(host: string): string {
  if (host === '') return 'has no host'
  return `has the host ${JSON.stringify(host)}, which is neither a name nor an IP address`
}

function portHint(raw: string): string {
  return /^\d+$/.test(raw) ? `write ":${raw}"` : `write "${raw}:443", or ":443" for every address`
}

function schemeHint(raw: string, scheme: Origin['scheme']): string {
  const isBare = raw !== '' && !raw.includes('://') && !/\s/.test(raw)
  return `write "${scheme}://${isBare ? raw : 'host:port'}"`
}

function surplusPart(raw: string, mark: string): Parsed<never> {
  const words: Record<string, string> = { '/': 'a path', '?': 'a query', '#': 'a fragment' }
  const end = raw.indexOf(mark, raw.indexOf('//') + 2)
  return { mistake: `has ${words[mark]}, which is not supported`, hint: `write "${raw.slice(0, end)}"` }
}
