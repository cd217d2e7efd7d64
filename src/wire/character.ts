// Classes of bytes as tables of 256, so that a codec validates a byte with one look-up. Used by both wires;
// never holds a rule that belongs to one wire alone.

const visibleAscii = Array.from({ length: 0x5e }, (_, index) => index + 0x21)
const digits = '0123456789'
const letters = 'abcdefghijklmnopqrstuvwxyz'

function tableOf(bytes: Iterable<number>): Uint8Array {
  const table = new Uint8Array(256)
  for (const byte of bytes) table[byte] = 1
  return table
}

function codesOf(characters: string): number[] {
  return Array.from(characters, (character) => character.charCodeAt(0))
}

const lettersAndDigits = new Set(codesOf(`${digits}${letters}`))
const tokenBytes = codesOf(`!#$%&'*+-.^_\`|~${digits}${letters}${letters.toUpperCase()}`)

/** 1 for a byte of a token: methods, field names, codings (RFC 9110 §5.6.2). */
export const isTokenByte = tableOf(tokenBytes)

/** 1 for a byte of a field value: tab, space, visible ASCII and obs-text, no other control (RFC 9110 §5.5). */
export const isValueByte = tableOf([0x09, 0x20, ...visibleAscii, ...Array.from({ length: 128 }, (_, n) => n + 128)])

/** 1 for a byte of a request target: visible ASCII without `#`, since a fragment is never sent (RFC 9112 §3.2). */
export const isTargetByte = tableOf(visibleAscii.filter((byte) => byte !== 0x23))

/** ASCII letters in lower case, every other byte itself. */
export const lowerCase = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
)

/**
 * A token byte as header names are compared: lower case, every mark as `-`, 0 for what no name may hold. Folding marks
 * finds look-alikes: CGI and WSGI cannot tell `X_Forwarded_For` from `X-Forwarded-For`, some of them nor `X.Forwarded.For`.
 */
export const nameFold = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (isTokenByte[byte] === 0) return 0
  const folded = lowerCase[byte] as number
  return lettersAndDigits.has(folded) ? folded : 0x2d
})

/** The value of a hexadecimal digit, 255 for every other byte. */
export const hexValue = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(value) ? 255 : value
})
