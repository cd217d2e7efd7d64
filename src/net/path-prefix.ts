// Paths of routes and redirects as people write them, in the spelling that requests are compared in. Pure.

import { type Origin, parseOrigin } from './address.js'
import type { Parsed } from './parsed.js'

/** Where a redirect leads: what follows the matched prefix in the request is appended to `path`. */
export interface RedirectTarget {
  /** Undefined stays on the host of the request. */
  readonly origin: Origin | undefined
  /** Begins with a slash and does not end with one; or empty. */
  readonly path: string
}

/** Reads the path prefix of a route: without a slash at the end, but for `/` itself; hexadecimal digits in upper case. */
export function parsePathPrefix(raw: string): Parsed<string> {
  if (!raw.startsWith('/')) return { mistake: 'does not begin with a slash', hint: `write "/${raw}"` }
  const surplus = /[?#]/.exec(raw)
  if (surplus !== null) {
    const part = surplus[0] === '?' ? 'query' : 'fragment'
    return { mistake: `has a ${part}, which no path has`, hint: `write "${raw.slice(0, surplus.index) || '/'}"` }
  }
  if (!isPathText(raw)) return { mistake: 'has characters that no path has', hint: encodedHint(raw) }
  const path = withoutSlash(raw).replaceAll(/%[0-9a-f]{2}/gi, (triplet) => triplet.toUpperCase())
  // What services disagree on: one merges slashes and resolves dots before it compares, another does not.
  if (raw.includes('//')) return { mistake: 'has an empty segment' }
  if (/\/(?:\.|%2E){1,2}(?:\/|$)/.test(path)) return { mistake: 'has a segment of dots' }
  return { value: path }
}

/** Reads where a redirect leads: `/path`, or `https://host[:port]` with or without a path. */
export function parseRedirectTarget(raw: string): Parsed<RedirectTarget> {
  if (raw.startsWith('//')) return { mistake: 'has a host without a scheme', hint: `write "https:${raw}"` }
  if (raw.startsWith('/')) return targetOf(undefined, raw)
  const [, start = raw, path = ''] = /^(https?:\/\/[^/?#]*)(.*)$/is.exec(raw) ?? []
  const origin = parseOrigin(start)
  if ('mistake' in origin) return origin
  const target = targetOf(origin.value, path.startsWith('/') ? path : `/${path}`)
  // What is wrong with the path has a hint for the path, which is not the whole here.
  return 'mistake' in target ? { mistake: target.mistake } : target
}

function targetOf(origin: Origin | undefined, raw: string): Parsed<RedirectTarget> {
  const path = parsePathPrefix(raw)
  if ('mistake' in path) return path
  return { value: { origin, path: path.value === '/' ? '' : path.value } }
}

// RFC 3986 §3.3: pchar and the slash.
function isPathText(raw: string): boolean {
  return /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/.test(raw)
}

function encodedHint(raw: string): string {
  try {
    return `write "${encodeURI(raw)}"`
  } catch {
    // Half a surrogate pair has no encoding.
    return 'write it as in a URL'
  }
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
