// Judges the head of a request (RFC 9113 §8.3.1, §8.1.1): what makes it malformed, what is merely too much, and what its
// body will be. Pure; used by the inbox once HPACK has delivered the section.
import { type BodySource, unknownLength } from '../wire/body.js'
import { isTargetByte, isTokenByte } from '../wire/character.js'
import type { Request, WireLimits } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import { Field } from '../wire/field-names.js'
import type { FieldSection } from './field-section.js'
import { type Priority, priorityOfLine, unprioritized } from './priority.js'

/** Why a request is malformed, which is a stream error; undefined for a sound one. */
export function faultOf(section: FieldSection, bodyBytes: number, body: 'none' | 'follows'): Failure | undefined {
  if (section.fault !== undefined) return new Failure('bad_header', section.fault)
  const reason = pseudoFault(section)
  if (reason !== undefined) return new Failure('bad_request', reason)
  // RFC 9110 §9.3.6: a CONNECT has no content; an endpoint must not be told of one.
  if (section.protocol !== undefined && section.has(Field.contentLength)) {
    return new Failure('bad_request', 'a content-length in an extended CONNECT')
  }
  if (Number.isNaN(bodyBytes)) return new Failure('bad_request', 'a content-length that is not one number')
  if (body === 'none' && bodyBytes > 0) return new Failure('bad_body', 'a content-length without a body')
  return undefined
}

/** Why a sound request is answered here and not handed on; undefined for one that is. */
export function refusalOf(section: FieldSection, limits: WireLimits): Failure | undefined {
  const { path } = section
  if (path !== undefined && path.length > limits.targetBytes) return new Failure('target_too_long', `${path.length}`)
  if (section.isTooLarge) return new Failure('headers_too_large', 'over limits.headerBytes or limits.headerCount')
  if (section.method === 'CONNECT' && section.protocol === undefined) return new Failure('not_implemented', 'CONNECT')
  if (section.has(Field.expect) && !expectsContinue(section)) return new Failure('expectation_failed', 'expect')
  return undefined
}

/** The request that a sound section is; its headers are lent with the section. */
export function requestOf(section: FieldSection, body: BodySource | undefined): Request {
  return {
    protocol: 'h2',
    method: section.method ?? '',
    target: section.path ?? '',
    authority: section.authority,
    headers: section.block,
    body,
    upgrade: section.protocol?.toLowerCase(),
    expectsContinue: body !== undefined && expectsContinue(section),
  }
}

/** The content-length, `unknownLength` without one, NaN where it is not exactly one number. */
export function bodyBytesOf(section: FieldSection): number {
  if (!section.has(Field.contentLength)) return unknownLength
  const { block } = section
  const line = block.find(Field.contentLength)
  if (block.find(Field.contentLength, line + 1) !== -1) return Number.NaN
  const start = block.valueStartOf(line)
  const end = block.valueEndOf(line)
  // Fifteen digits are a petabyte, and exact in a double.
  if (start === end || end - start > 15) return Number.NaN
  let bytes = 0
  for (let at = start; at < end; at++) {
    const digit = (block.bytes[at] as number) - 0x30
    if (digit < 0 || digit > 9) return Number.NaN
    bytes = bytes * 10 + digit
  }
  return bytes
}

/** What the client says of its urgency. */
export function priorityOf(section: FieldSection): Priority {
  if (!section.has(Field.priority)) return unprioritized
  return priorityOfLine(section.block, section.block.find(Field.priority))
}

/** Whether the client waits for a 100 (RFC 9110 §10.1.1). */
function expectsContinue(section: FieldSection): boolean {
  if (!section.has(Field.expect)) return false
  return section.block.hasValue(section.block.find(Field.expect), '100-continue')
}

function pseudoFault(section: FieldSection): string | undefined {
  const { method, scheme, path, authority, protocol } = section
  if (section.isTooLarge) return undefined
  if (method === undefined) return 'no :method'
  if (!consistsOf(isTokenByte, method)) return 'a bad :method'
  if (method === 'CONNECT' && protocol === undefined) return connectFault(section)
  if (protocol !== undefined && method !== 'CONNECT') return ':protocol without CONNECT'
  if (protocol !== undefined && !consistsOf(isTokenByte, protocol)) return 'a bad :protocol'
  if (protocol !== undefined && authority === undefined) return ':protocol without :authority'
  if (scheme !== 'https' && scheme !== 'http') return 'no :scheme, or none that is served'
  if (authority === '') return 'an empty :authority'
  if (path === undefined || path === '') return 'no :path'
  if (path === '*' ? method !== 'OPTIONS' : path.charCodeAt(0) !== 0x2f) return 'a :path that is not a path'
  return consistsOf(isTargetByte, path) ? undefined : 'a bad byte in :path'
}

/** RFC 9113 §8.5. */
function connectFault(section: FieldSection): string | undefined {
  if (section.scheme !== undefined || section.path !== undefined) return 'CONNECT with :scheme or :path'
  return section.authority === undefined ? 'CONNECT without :authority' : undefined
}

function consistsOf(table: Uint8Array, text: string): boolean {
  for (let index = 0; index < text.length; index++) if (table[text.charCodeAt(index)] !== 1) return false
  return text.length > 0
}
