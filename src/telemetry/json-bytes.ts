// JSON written as bytes into a buffer, piece by piece. Used by the request line, which is the hot path. Whatever a client
// sent, the result is valid JSON in ASCII on one line. Every function returns the offset behind what it wrote; the caller
// has made room, because a typed array silently ignores what is written past its end.

/** Bytes that a string of `length` characters needs at most: six for each (`\u00e4`), and two quotes. */
export function textBytesMax(length: number): number {
  return length * 6 + 2
}

/** Bytes that a number or null needs at most. */
export const numberBytesMax = 24

/** A string as a JSON string, or null. */
export function writeText(bytes: Buffer, start: number, text: string | null): number {
  if (text === null) return writeNull(bytes, start)
  let offset = start
  bytes[offset++] = quotationMark
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code < space || code > tilde || code === quotationMark || code === backslash) {
      return start + bytes.write(escapeText(text), start, 'latin1')
    }
    bytes[offset++] = code
  }
  bytes[offset++] = quotationMark
  return offset
}

/** A count, a status or null; what JSON cannot say is null too. */
export function writeInteger(bytes: Buffer, start: number, value: number | null): number {
  if (value === null || !Number.isFinite(value)) return writeNull(bytes, start)
  if (value < 0 || value > smallIntegerMax || value % 1 !== 0)
    return start + bytes.write(String(value), start, 'latin1')
  const end = start + digitCount(value)
  let rest = value
  for (let offset = end - 1; offset >= start; offset -= 1) {
    const quotient = (rest / 10) | 0
    bytes[offset] = zero + rest - quotient * 10
    rest = quotient
  }
  return end
}

/** Milliseconds with three decimals, or null. */
export function writeMilliseconds(bytes: Buffer, start: number, value: number | null): number {
  if (value === null || !(value >= 0 && value <= smallIntegerMax)) return writeInteger(bytes, start, value)
  const rounded = Math.round(value * 1000)
  const whole = Math.floor(rounded / 1000)
  const fraction = rounded - whole * 1000
  const offset = writeInteger(bytes, start, whole)
  bytes[offset] = point
  bytes[offset + 1] = zero + ((fraction / 100) | 0)
  bytes[offset + 2] = zero + (((fraction / 10) | 0) % 10)
  bytes[offset + 3] = zero + (fraction % 10)
  return offset + 4
}

/** Bytes that are JSON already, as they are. */
export function writeBytes(bytes: Buffer, start: number, piece: Uint8Array): number {
  // A loop, because a call of set costs more than the ten or twenty bytes of a key.
  for (let index = 0; index < piece.length; index += 1) bytes[start + index] = piece[index]
  return start + piece.length
}

const quotationMark = 0x22
const backslash = 0x5c
const space = 0x20
const tilde = 0x7e
const zero = 0x30
const point = 0x2e
const smallIntegerMax = 0x3fffffff

function writeNull(bytes: Buffer, start: number): number {
  bytes[start] = 0x6e
  bytes[start + 1] = 0x75
  bytes[start + 2] = 0x6c
  bytes[start + 3] = 0x6c
  return start + 4
}

function digitCount(value: number): number {
  let count = 1
  for (let power = 10; power <= value; power *= 10) count += 1
  return count
}

// JSON.stringify escapes what JSON must; DEL, C1 and all beyond ASCII are ours: some terminals obey U+009B.
function escapeText(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, escapeCharacter)
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
