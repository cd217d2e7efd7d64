// The header names that Hostward asks for, each with a number, so that a rule compares numbers instead of strings.
// Used by the codecs while they scan and by the header rules; never decodes a name that is not asked for.
import { nameFold } from './character.js'

/** Numbers of the known header names; 0 is every other name. */
export const Field = {
  other: 0,
  host: 1,
  connection: 2,
  contentLength: 3,
  transferEncoding: 4,
  te: 5,
  trailer: 6,
  upgrade: 7,
  keepAlive: 8,
  proxyConnection: 9,
  expect: 10,
  http2Settings: 11,
  xForwardedFor: 12,
  xForwardedProto: 13,
  xForwardedHost: 14,
  xForwardedPort: 15,
  forwarded: 16,
  xRequestId: 17,
  via: 18,
  cookie: 19,
  setCookie: 20,
  authorization: 21,
  date: 22,
  proxyAuthenticate: 23,
  proxyAuthorization: 24,
  /** `Proxy`, which CGI turns into HTTP_PROXY (the "httpoxy" attack, CVE-2016-5385). */
  proxy: 25,
  contentType: 26,
  priority: 27,
  clientCert: 28,
  clientCertChain: 29,
  /** Any other name under which somebody tells who asks, how or for what: one of `claimNames`. */
  claim: 31,
  /** Marks a line that is passed on although its name is that of a claim: it is believed. */
  believed: 253,
  /** A name that differs from a known one only by `_`, `.` or the like for `-`. */
  lookAlike: 254,
  /** Marks a line that is not passed on. */
  dropped: 255,
} as const

/** The spelling of each known name, by number. */
const spellings: readonly string[] = [
  '',
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'keep-alive',
  'proxy-connection',
  'expect',
  'http2-settings',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'forwarded',
  'x-request-id',
  'via',
  'cookie',
  'set-cookie',
  'authorization',
  'date',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy',
  'content-type',
  'priority',
  'client-cert',
  'client-cert-chain',
]

/**
 * Names that some application or framework takes, out of the box, for the word of a proxy: the client's address, the scheme,
 * the host, the port or the path that it asked for.
 */
const claimNames: readonly string[] = [
  ...['cf-connecting-ip', 'cf-connecting-ipv6', 'cf-pseudo-ipv4', 'cf-visitor', 'true-client-ip', 'fastly-client-ip'],
  ...['fastly-ssl', 'cloudfront-viewer-address', 'cloudfront-forwarded-proto', 'fly-client-ip', 'x-azure-clientip'],
  ...['x-azure-socketip', 'x-appengine-user-ip', 'x-envoy-external-address', 'incap-client-ip', 'x-sucuri-clientip'],
  ...['ali-cdn-real-ip', 'cdn-src-ip', 'client-ip', 'x-client-ip', 'x-cluster-client-ip', 'x-real-ip', 'x-real-port'],
  ...['x-remote-ip', 'x-remote-addr', 'remote-addr', 'x-originating-ip', 'proxy-client-ip', 'wl-proxy-client-ip'],
  ...['x-original-forwarded-for', 'x-original-host', 'x-original-proto', 'x-original-for', 'x-host', 'x-forwarded'],
  ...['forwarded-for', 'x-forwarded-by', 'x-forwarded-server', 'x-forwarded-scheme', 'x-forwarded-ssl', 'x-scheme'],
  ...['x-forwarded-protocol', 'x-forwarded-prefix', 'x-url-scheme', 'x-proxied-https', 'front-end-https', 'x-https'],
  ...['x-original-url', 'x-rewrite-url'],
]

const known = [...spellings, ...claimNames]
const slotCount = 256
const slots = new Uint8Array(slotCount)
const hashes = Int32Array.from(known, (name) => hashOfName(name))
const spellingBytes = known.map((name) => Buffer.from(name))
const numbers = Uint8Array.from(known, (_, index) => (index < spellings.length ? index : Field.claim))

for (let index = 1; index < known.length; index++) {
  let slot = (hashes[index] as number) & (slotCount - 1)
  while (slots[slot] !== 0) slot = (slot + 1) & (slotCount - 1)
  slots[slot] = index
}

/** One step of the hash of a name; `folded` comes from `nameFold`. Codecs inline it in their scan. */
export function hashStep(hash: number, folded: number): number {
  return (Math.imul(hash, 31) + folded) | 0
}

/**
 * The number of the name that stands at `start` to `end` and has `hash`, or `Field.other`.
 * Plain parameters: an object for each header line would cost more than the look-up.
 */
export function findField(bytes: Uint8Array, start: number, end: number, hash: number): number {
  let slot = hash & (slotCount - 1)
  for (;;) {
    const index = slots[slot] as number
    if (index === 0) return Field.other
    if (hashes[index] === hash) return matchSpelling(bytes, start, end, index)
    slot = (slot + 1) & (slotCount - 1)
  }
}

/** Whether a name, or what it looks like, has a number of its own. */
export function isKnownName(name: string): boolean {
  return findField(Buffer.from(name, 'latin1'), 0, name.length, hashOfName(name)) !== Field.other
}

/** Whether the name that stands at `start` to `end` is `spelling` (lower case) or a look-alike of it. */
export function isAlike(bytes: Uint8Array, start: number, end: number, spelling: Uint8Array): boolean {
  if (spelling.length !== end - start) return false
  for (let index = 0; index < spelling.length; index++) {
    if (nameFold[bytes[start + index] as number] !== nameFold[spelling[index] as number]) return false
  }
  return true
}

function matchSpelling(bytes: Uint8Array, start: number, end: number, known: number): number {
  const spelling = spellingBytes[known] as Uint8Array
  if (spelling.length !== end - start) return Field.other
  let isLookAlike = false
  for (let index = 0; index < spelling.length; index++) {
    const byte = bytes[start + index] as number
    if (nameFold[byte] !== spelling[index]) return Field.other
    if (spelling[index] === dash && byte !== dash) isLookAlike = true
  }
  return isLookAlike ? Field.lookAlike : (numbers[known] as number)
}

const dash = 0x2d

function hashOfName(name: string): number {
  let hash = 0
  for (let index = 0; index < name.length; index++) {
    hash = hashStep(hash, nameFold[name.charCodeAt(index) & 0xff] as number)
  }
  return hash
}
