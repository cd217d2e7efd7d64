// Scans the field lines of a head or a trailer section (RFC 9112 §5), the same for requests and responses.
// Used by the head parsers and the chunked decoder; accepts nothing that has to be repaired.
import { isValueByte, nameFold } from '../wire/character.js'
import { findField } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'

/** More bytes are needed. */
export const incomplete = 0
/** A line breaks the grammar: no token name, white space before the colon, obs-fold, a bare CR or LF, a control byte. */
export const badField = -1
/** More lines or bytes than the limits allow. */
export const fieldsTooLarge = -2

/** What bounds one section of field lines. */
export interface FieldLimits {
  readonly headerBytes: number
  readonly headerCount: number
}

/**
 * Appends the lines that start at `from` to `block`, up to and over the empty line.
 * Returns the offset behind the empty line, or `incomplete`, `badField` or `fieldsTooLarge`.
 */
export function scanFieldLines(bytes: Buffer, from: number, block: HeaderBlock, limits: FieldLimits): number {
  const length = bytes.length
  const bytesMax = from + limits.headerBytes
  // No line is read beyond the limit, so that the verdict does not depend on how much of it has come.
  const scanned = Math.min(length, bytesMax)
  let at = from
  for (;;) {
    if (at > bytesMax || block.count > limits.headerCount) return fieldsTooLarge
    if (at < length && bytes[at] === 0x0d) return endOfFields(bytes, at)
    at = scanLine(bytes, at, scanned, block)
    if (at <= 0) return at === incomplete && length > bytesMax ? fieldsTooLarge : at
  }
}

function endOfFields(bytes: Buffer, at: number): number {
  if (at + 1 === bytes.length) return incomplete
  return bytes[at + 1] === 0x0a ? at + 2 : badField
}

/** The hot loop: one table look-up validates a byte of a name and feeds its hash. */
function scanLine(bytes: Buffer, start: number, length: number, block: HeaderBlock): number {
  let at = start
  let hash = 0
  let folded = 0
  while (at < length) {
    folded = nameFold[bytes[at] as number] as number
    if (folded === 0) break
    hash = (Math.imul(hash, 31) + folded) | 0
    at++
  }
  if (at === length) return incomplete
  if (bytes[at] !== 0x3a || at === start) return badField
  const nameEnd = at++
  while (at < length && (bytes[at] === 0x20 || bytes[at] === 0x09)) at++
  const valueStart = at
  while (at < length && isValueByte[bytes[at] as number] === 1) at++
  if (at + 1 >= length) return at < length && bytes[at] !== 0x0d ? badField : incomplete
  if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) return badField
  let valueEnd = at
  while (valueEnd > valueStart && (bytes[valueEnd - 1] === 0x20 || bytes[valueEnd - 1] === 0x09)) valueEnd--
  block.push(start, nameEnd, valueStart, valueEnd, at + 2, findField(bytes, start, nameEnd, hash))
  return at + 2
}
