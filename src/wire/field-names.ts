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
  /** A name that differs from a known one only by `_` for `-`. */
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

const slotCount = 256
const slots = new Uint8Array(slotCount)
const hashes = Int32Array.from(spellings, (name) => hashOfName(name))
const spellingBytes = spellings.map((name) => Buffer.from(name))

for (let id = 1; id < spellings.length; id++) {
  let slot = (hashes[id] as number) & (slotCount - 1)
  while (slots[slot] !== 0) slot = (slot + 1) & (slotCount - 1)
  slots[slot] = id
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
    const id = slots[slot] as number
    if (id === 0) return Field.other
    if (hashes[id] === hash) return matchSpelling(bytes, start, end, id)
    slot = (slot + 1) & (slotCount - 1)
  }
}

function matchSpelling(bytes: Uint8Array, start: number, end: number, id: number): number {
  const spelling = spellingBytes[id] as Uint8Array
  if (spelling.length !== end - start) return Field.other
  let isLookAlike = false
  for (let index = 0; index < spelling.length; index++) {
    const byte = bytes[start + index] as number
    if (nameFold[byte] !== spelling[index]) return Field.other
    if (byte === 0x5f) isLookAlike = true
  }
  return isLookAlike ? Field.lookAlike : id
}

function hashOfName(name: string): number {
  let hash = 0
  for (let index = 0; index < name.length; index++) {
    hash = hashStep(hash, nameFold[name.charCodeAt(index) & 0xff] as number)
  }
  return hash
}
