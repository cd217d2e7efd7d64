// What is known of a field once its bytes were looked at, as one number, so that a field out of a table need not be
// looked at again. Used by the HPACK decoder and the field sections; the rules are those of RFC 9113 §8.2 and §8.3.
import { isTokenByte, isValueByte, lowerCase, nameFold } from '../wire/character.js'
import { findField, hashStep } from '../wire/field-names.js'

/** Bits of a tag. Below `Tag.pseudo` a tag is the number of a known name (wire/field-names.ts). */
export const Tag = {
  /** A pseudo-header; the low bits say which. */
  pseudo: 256,
  /** The name may not stand in HTTP/2. */
  badName: 512,
  /** The value may not stand in HTTP/2. */
  badValue: 1024,
} as const

/** The tags of the pseudo-headers that exist. */
export const Pseudo = {
  authority: Tag.pseudo | 1,
  method: Tag.pseudo | 2,
  path: Tag.pseudo | 3,
  scheme: Tag.pseudo | 4,
  status: Tag.pseudo | 5,
  protocol: Tag.pseudo | 6,
} as const

const pseudoTags = new Map<string, number>(Object.entries(Pseudo).map(([name, tag]) => [`:${name}`, tag]))

/** 1 for a byte of a field name on HTTP/2: a token byte that is no upper-case letter (RFC 9113 §8.2.1). */
const isNameByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  isTokenByte[byte] === 1 && lowerCase[byte] === byte ? 1 : 0,
)

/** The tag of the name at `start` to `end`. */
export function tagOfName(bytes: Buffer, start: number, end: number): number {
  if (start === end) return Tag.badName
  if (bytes[start] === 0x3a) return pseudoTags.get(bytes.toString('latin1', start, end)) ?? Tag.badName
  let hash = 0
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number
    if (isNameByte[byte] === 0) return Tag.badName
    hash = hashStep(hash, nameFold[byte] as number)
  }
  return findField(bytes, start, end, hash)
}

/** `Tag.badValue` for a value with control bytes or with white space at its ends (RFC 9113 §8.2.1), else 0. */
export function tagOfValue(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0
  if (isBlank(bytes[start] as number) || isBlank(bytes[end - 1] as number)) return Tag.badValue
  for (let index = start; index < end; index++) {
    if (isValueByte[bytes[index] as number] === 0) return Tag.badValue
  }
  return 0
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09
}
