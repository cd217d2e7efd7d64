// Tells where a body ends (RFC 9112 §6), from the framing lines of a head. Used by both sides;
// two answers to that question are a smuggled request, so there is exactly one or a refusal.
import { unknownLength } from '../wire/body.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'

/** A body in chunks. */
export const chunked = unknownLength
/** Neither Content-Length nor Transfer-Encoding. */
export const unframed = -2
/** Contradicting, repeated or malformed framing. */
export const badFraming = -3
/** A transfer coding that is valid but not `chunked` alone. */
export const unknownCoding = -4

/** Up to 15 digits: every such number is exact in a double. */
const lengthDigitsMax = 15

/** The announced length in bytes, or `chunked`, `unframed`, `badFraming` or `unknownCoding`. */
export function framingOf(headers: HeaderBlock): number {
  const length = headers.find(Field.contentLength)
  const coding = headers.find(Field.transferEncoding)
  if (coding === -1) return length === -1 ? unframed : lengthOf(headers, length)
  // RFC 9112 §6.1: both together are how requests are smuggled; a server may refuse them, so we do.
  if (length !== -1 || headers.find(Field.transferEncoding, coding + 1) !== -1) return badFraming
  return headers.hasValue(coding, 'chunked') ? chunked : codingOf(headers.valueOf(coding))
}

function lengthOf(headers: HeaderBlock, index: number): number {
  if (headers.find(Field.contentLength, index + 1) !== -1) return badFraming
  return parseLength(headers.bytes, headers.valueStartOf(index), headers.valueEndOf(index))
}

/** A Content-Length as RFC 9110 §8.6 writes it: digits alone; no sign, no list, no white space within. */
export function parseLength(bytes: Uint8Array, start: number, end: number): number {
  if (end === start || end - start > lengthDigitsMax) return badFraming
  let length = 0
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - 0x30
    if (digit < 0 || digit > 9) return badFraming
    length = length * 10 + digit
  }
  return length
}

// RFC 9112 §6.1: an unknown coding is 501, but only where `chunked` ends the body, once; all else is malformed.
function codingOf(value: string): number {
  const codings = value.toLowerCase().split(/[ \t]*,[ \t]*/)
  const areTokens = codings.every((coding) => /^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(coding))
  return areTokens && codings.indexOf('chunked') === codings.length - 1 ? unknownCoding : badFraming
}
