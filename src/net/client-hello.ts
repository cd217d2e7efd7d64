// Reads a TLS ClientHello out of the first bytes of a connection, whatever the segments and records it comes in.
// The listener asks it which site a handshake is for. Total: no bytes make it throw, and it keeps no state.

import { type KeySupport, keySupport } from './key-support.js'

/** What a client asks for in its ClientHello (RFC 8446 §4.1.2), as far as choosing a certificate goes. */
export interface ClientHello extends KeySupport {
  /** The `host_name` of RFC 6066 §3: lower case, without a trailing dot; undefined where absent or not a host name. */
  readonly serverName: string | undefined
  /** Application protocols in the client's order, as Latin-1; empty where the extension is absent. */
  readonly alpn: readonly string[]
  /** Signature schemes by number; undefined where the extension is absent (TLS 1.2 has a default then). */
  readonly signatureAlgorithms: readonly number[] | undefined
  readonly cipherSuites: readonly number[]
  readonly supportsTls13: boolean
}

/** What the first bytes of a connection are. More bytes change only `incomplete`. */
export type ClientHelloVerdict =
  | { readonly kind: 'hello'; readonly hello: ClientHello }
  /** No sooner than with this many bytes in all can the verdict be another. */
  | { readonly kind: 'incomplete'; readonly bytesNeeded: number }
  | { readonly kind: 'not_tls' | 'malformed' | 'too_large' }

/**
 * The most bytes a ClientHello may take on the wire, record headers included. Browsers with post-quantum key shares
 * send about 2 KiB; other servers stop at 16 KiB. Twice that leaves room for a hello cut into many records.
 */
export const clientHelloBytesMax = 32_768

const recordHeaderBytes = 5
const recordBodyBytesMax = 16_384
const handshakeHeaderBytes = 4
const handshakeRecordType = 0x16
const clientHelloType = 1
const extensionType = { serverName: 0, signatureAlgorithms: 13, alpn: 16, supportedVersions: 43 } as const
const tls13 = 0x0304

/** Judges the bytes received so far; the answer for a prefix is never contradicted by that for more bytes. */
export function readClientHello(bytes: Buffer): ClientHelloVerdict {
  const message = gatherMessage(bytes.subarray(0, clientHelloBytesMax))
  if (message.kind !== 'message') return message
  const hello = parseHello(message.body)
  return hello === undefined ? { kind: 'malformed' } : { kind: 'hello', hello }
}

type Gathered = Exclude<ClientHelloVerdict, { kind: 'hello' }> | { readonly kind: 'message'; readonly body: Buffer }

/** Joins the handshake fragments of successive records (RFC 8446 §5.1) until the first message is whole. */
function gatherMessage(bytes: Buffer): Gathered {
  const fragments: Buffer[] = []
  let gatheredBytes = 0
  let messageBytes = handshakeHeaderBytes
  let offset = 0
  while (gatheredBytes < messageBytes) {
    const bodyBytes = recordBodyLength(bytes, offset)
    if (typeof bodyBytes !== 'number') return bodyBytes
    offset += recordHeaderBytes
    const fragment = bytes.subarray(offset, offset + bodyBytes)
    fragments.push(fragment)
    gatheredBytes += fragment.length
    const start = fragments.length === 1 ? fragment : leading(fragments)
    if (start.length > 0 && start[0] !== clientHelloType) return { kind: 'malformed' }
    if (start.length >= handshakeHeaderBytes) messageBytes = handshakeHeaderBytes + start.readUIntBE(1, 3)
    if (messageBytes > clientHelloBytesMax) return { kind: 'too_large' }
    // Known here: how much of this record is still to come, and that the message needs at least that.
    if (fragment.length < bodyBytes && gatheredBytes < messageBytes) {
      return incomplete(bytes.length + Math.min(bodyBytes - fragment.length, messageBytes - gatheredBytes))
    }
    offset += bodyBytes
  }
  return { kind: 'message', body: Buffer.concat(fragments).subarray(handshakeHeaderBytes, messageBytes) }
}

/** The length a record header announces, or the verdict where there is no sound one; each byte is judged as it comes. */
function recordBodyLength(bytes: Buffer, offset: number): number | Exclude<Gathered, { kind: 'message' }> {
  const type = bytes[offset]
  const foreign = offset === 0 ? 'not_tls' : 'malformed'
  if (type !== undefined && type !== handshakeRecordType) return { kind: foreign }
  // The minor version is ignored (RFC 8446 §5.1), the major one tells TLS from what merely starts with the same byte.
  const major = bytes[offset + 1]
  if (major !== undefined && major !== 3) return { kind: foreign }
  if (bytes.length < offset + recordHeaderBytes) return incomplete(offset + recordHeaderBytes)
  const bodyBytes = bytes.readUInt16BE(offset + 3)
  if (bodyBytes === 0 || bodyBytes > recordBodyBytesMax) return { kind: 'malformed' }
  return bodyBytes
}

function incomplete(bytesNeeded: number): Exclude<Gathered, { kind: 'message' }> {
  return bytesNeeded > clientHelloBytesMax ? { kind: 'too_large' } : { kind: 'incomplete', bytesNeeded }
}

/** The first bytes of the message, enough for its header; records may be as short as one byte. */
function leading(fragments: readonly Buffer[]): Buffer {
  return Buffer.concat(fragments.slice(0, handshakeHeaderBytes)).subarray(0, handshakeHeaderBytes)
}

/** Walks bytes by length-prefixed fields; the first field that does not fit makes it fail for good. */
class FieldReader {
  failed = false
  readonly #bytes: Buffer
  #offset = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get remaining(): number {
    return this.failed ? 0 : this.#bytes.length - this.#offset
  }

  number(width: 1 | 2): number {
    const field = this.take(width)
    return field.length === width ? field.readUIntBE(0, width) : 0
  }

  take(length: number): Buffer {
    if (length > this.remaining) this.failed = true
    if (this.failed) return Buffer.alloc(0)
    this.#offset += length
    return this.#bytes.subarray(this.#offset - length, this.#offset)
  }

  /** A field behind its own length, whose length must lie between the two. */
  vector(width: 1 | 2, least: number, most: number): FieldReader {
    const length = this.number(width)
    if (length < least || length > most) this.failed = true
    const inner = new FieldReader(this.take(length))
    inner.failed = this.failed
    return inner
  }

  /** Everything that is left, as 16-bit numbers. */
  numbers(): number[] {
    const numbers: number[] = []
    while (this.remaining > 0) numbers.push(this.number(2))
    return numbers
  }

  rest(): Buffer {
    return this.take(this.remaining)
  }

  /** Whether every field fitted and nothing is left over. */
  get isDone(): boolean {
    return !this.failed && this.remaining === 0
  }
}

function parseHello(body: Buffer): ClientHello | undefined {
  const reader = new FieldReader(body)
  reader.take(2 + 32) // legacy_version, random
  reader.vector(1, 0, 32) // legacy_session_id
  const suites = reader.vector(2, 2, 65_534)
  const cipherSuites = suites.numbers()
  reader.vector(1, 1, 255) // legacy_compression_methods
  const extensions = parseExtensions(reader)
  if (extensions === undefined || !suites.isDone || !reader.isDone) return undefined
  const { serverName, alpn, signatureAlgorithms, versions } = extensions
  const supportsTls13 = versions.includes(tls13)
  const support = keySupport({ cipherSuites, signatureAlgorithms, supportsTls13 })
  return { serverName, alpn, signatureAlgorithms, cipherSuites, supportsTls13, ...support }
}

interface Extensions {
  serverName: string | undefined
  alpn: readonly string[]
  signatureAlgorithms: readonly number[] | undefined
  versions: readonly number[]
}

/** Reads the extensions block, which TLS 1.2 may leave out; undefined where one is twice or does not parse. */
function parseExtensions(reader: FieldReader): Extensions | undefined {
  const found: Extensions = { serverName: undefined, alpn: [], signatureAlgorithms: undefined, versions: [] }
  if (reader.remaining === 0) return found
  const block = reader.vector(2, 0, 65_535)
  const seen = new Set<number>()
  while (block.remaining > 0) {
    const type = block.number(2)
    const content = block.vector(2, 0, 65_535)
    // RFC 8446 §4.2: no type twice. Taking the first or the last would let two readers see two names.
    if (content.failed || seen.has(type) || !parseExtension(type, content, found)) return undefined
    seen.add(type)
  }
  return block.isDone ? found : undefined
}

function parseExtension(type: number, content: FieldReader, found: Extensions): boolean {
  switch (type) {
    case extensionType.serverName:
      return parseServerName(content, found)
    case extensionType.alpn:
      return parseAlpn(content, found)
    case extensionType.signatureAlgorithms: {
      const list = content.vector(2, 2, 65_534)
      found.signatureAlgorithms = list.numbers()
      return list.isDone && content.isDone
    }
    case extensionType.supportedVersions: {
      const list = content.vector(1, 2, 254)
      found.versions = list.numbers()
      return list.isDone && content.isDone
    }
    default:
      return true
  }
}

/** RFC 6066 §3. Exactly one name, of the only type there is: OpenSSL accepts no other, and two would be ambiguous. */
function parseServerName(content: FieldReader, found: Extensions): boolean {
  const list = content.vector(2, 1, 65_535)
  const nameType = list.number(1)
  const name = list.vector(2, 1, 65_535).rest()
  found.serverName = normaliseName(name)
  return nameType === 0 && list.isDone && content.isDone
}

/** RFC 7301 §3.1: at least one name, none of them empty. */
function parseAlpn(content: FieldReader, found: Extensions): boolean {
  const list = content.vector(2, 2, 65_535)
  const names: string[] = []
  while (list.remaining > 0) names.push(list.vector(1, 1, 255).rest().toString('latin1'))
  found.alpn = names
  return list.isDone && content.isDone
}

const plausibleName = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/

/** A name that no site can have (spaces, non-ASCII, an IPv6 literal) is none: its client is told so in a 421. */
function normaliseName(bytes: Buffer): string | undefined {
  const name = bytes.toString('latin1').toLowerCase().replace(/\.$/, '')
  return plausibleName.test(name) ? name : undefined
}
