// CRC-32C (Castagnoli), the checksum of version 2 PROXY headers; the runtime knows CRC-32 alone. Pure.

const reversedPolynomial = 0x82f63b78

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte
  for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ ((remainder & 1) * reversedPolynomial)
  return remainder
})

/** The checksum of some bytes; of more, when it is given what it said of those before. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  let remainder = ~before
  for (const byte of bytes) remainder = (remainder >>> 8) ^ (table[(remainder ^ byte) & 0xff] as number)
  return ~remainder >>> 0
}
