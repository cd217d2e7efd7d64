// The Huffman code of HPACK (RFC 7541 §5.2 and appendix B), both ways. Used by the decoder and the encoder.
// The code is canonical: the lengths of its words determine the words.

/** Symbols by the length of their code word; numbers stand for bytes that cannot be typed, 256 for the end of string. */
const symbolsByBits: readonly (readonly [bits: number, typed: string, others: readonly number[]])[] = [
  [5, '012aceiost', []],
  [6, ' %-./3456789=A_bdfghlmnpru', []],
  [7, ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz', []],
  [8, '&*,;XZ', []],
  [10, '!"()?', []],
  [11, "'+|", []],
  [12, '#>', []],
  [13, '$@[]~', [0]],
  [14, '^}', []],
  [15, '<`{', []],
  [19, '\\', [195, 208]],
  [20, '', [128, 130, 131, 162, 184, 194, 224, 226]],
  [21, '', [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230]],
  [22, '', [129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190]],
  [22, '', [196, 198, 228, 232, 233]],
  [23, '', [1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175]],
  [23, '', [180, 182, 183, 188, 191, 197, 231, 239]],
  [24, '', [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237]],
  [25, '', [199, 207, 234, 235]],
  [26, '', [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255]],
  [27, '', [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254]],
  [28, '', [2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31]],
  [28, '', [127, 220, 249]],
  [30, '', [10, 13, 22, 256]],
]

const endOfString = 256
const longestBits = 30
/** Words up to this length are read with one look-up; they are all that URLs and most values consist of. */
const shortBits = 10
const shortMask = (1 << shortBits) - 1

const wordBits = new Uint8Array(257)
const words = new Uint32Array(257)
/** For each length: its first word, the number of its words, and where its symbols start in `ordered`. */
const firstWord = new Int32Array(longestBits + 2)
const wordCount = new Int32Array(longestBits + 2)
const firstSymbol = new Int32Array(longestBits + 2)
const ordered = new Uint16Array(257)
/** For the next ten bits: length << 8 | symbol, 0 where the word is longer. */
const shortWords = new Uint16Array(1 << shortBits)

buildTables()

/**
 * Decodes `source` from `start` to `end` into `target` at `at`, which must have room for 8/5 of the length.
 * Returns the offset behind the last byte written, or -1 for a string that RFC 7541 §5.2 forbids.
 */
export function decodeHuffman(source: Uint8Array, start: number, end: number, target: Uint8Array, at: number): number {
  let bits = 0
  let count = 0
  let from = start
  let to = at
  for (;;) {
    while (count <= 16 && from < end) {
      bits = (bits << 8) | (source[from++] as number)
      count += 8
    }
    if (count < shortBits) return decodeTail(bits, count, target, to)
    const short = shortWords[(bits >>> (count - shortBits)) & shortMask] as number
    if (short !== 0) {
      target[to++] = short & 0xff
      count -= short >> 8
      continue
    }
    let word = (bits >>> (count - shortBits)) & shortMask
    let length = shortBits
    count -= shortBits
    while (word - (firstWord[length] as number) >= (wordCount[length] as number)) {
      if (count === 0) {
        if (from === end) return -1
        bits = source[from++] as number
        count = 8
      }
      word = (word << 1) | ((bits >>> --count) & 1)
      length++
    }
    const symbol = ordered[(firstSymbol[length] as number) + word - (firstWord[length] as number)] as number
    if (symbol === endOfString) return -1
    target[to++] = symbol
  }
}

/** What is left is shorter than the longest short word: words that fit, then fewer than eight ones as padding. */
function decodeTail(bits: number, available: number, target: Uint8Array, at: number): number {
  let count = available
  let to = at
  while (count > 0) {
    const padded = ((bits << (shortBits - count)) | (shortMask >>> count)) & shortMask
    const short = shortWords[padded] as number
    if (short === 0 || short >> 8 > count) break
    target[to++] = short & 0xff
    count -= short >> 8
  }
  const padding = (1 << count) - 1
  return count < 8 && (bits & padding) === padding ? to : -1
}

/** The number of bytes that `encodeHuffman` writes for `source` from `start` to `end`. */
export function huffmanLength(source: Uint8Array, start: number, end: number): number {
  let bits = 0
  for (let index = start; index < end; index++) bits += wordBits[source[index] as number] as number
  return (bits + 7) >>> 3
}

/** Encodes `source` from `start` to `end` into `target` at `at`; returns the offset behind the last byte written. */
export function encodeHuffman(source: Uint8Array, start: number, end: number, target: Uint8Array, at: number): number {
  let bits = 0
  let count = 0
  let to = at
  for (let index = start; index < end; index++) {
    const symbol = source[index] as number
    let word = words[symbol] as number
    let length = wordBits[symbol] as number
    if (length > 16) {
      bits = (bits << (length - 16)) | (word >>> 16)
      count += length - 16
      word &= 0xffff
      length = 16
      for (; count >= 8; count -= 8) target[to++] = bits >>> (count - 8)
    }
    bits = (bits << length) | word
    count += length
    for (; count >= 8; count -= 8) target[to++] = bits >>> (count - 8)
  }
  if (count > 0) target[to++] = (bits << (8 - count)) | (0xff >>> count)
  return to
}

function buildTables(): void {
  for (const [bits, typed, others] of symbolsByBits) {
    for (const character of typed) wordBits[character.charCodeAt(0)] = bits
    for (const symbol of others) wordBits[symbol] = bits
  }
  let word = 0
  let placed = 0
  for (let bits = 1; bits <= longestBits; bits++) {
    word <<= 1
    firstWord[bits] = word
    firstSymbol[bits] = placed
    for (let symbol = 0; symbol <= endOfString; symbol++) {
      if (wordBits[symbol] !== bits) continue
      ordered[placed++] = symbol
      words[symbol] = word
      if (bits <= shortBits) addShortWord(word++, bits, symbol)
      else word++
    }
    wordCount[bits] = placed - (firstSymbol[bits] as number)
  }
}

function addShortWord(word: number, bits: number, symbol: number): void {
  const first = word << (shortBits - bits)
  shortWords.fill((bits << 8) | symbol, first, first + (1 << (shortBits - bits)))
}
