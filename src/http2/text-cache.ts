// Strings that come again and again, found by their bytes: comparing them is cheaper than making them anew.
// Used for pseudo-headers; bounded by construction, since each slot holds one short text.

const slotCount = 1024
const textLengthMax = 128
const slots: string[] = new Array(slotCount).fill('')

/** The latin1 text of `bytes` from `start` to `end`, the same string for the same bytes where it is still at hand. */
export function internText(bytes: Buffer, start: number, end: number): string {
  const length = end - start
  if (length > textLengthMax) return bytes.toString('latin1', start, end)
  let hash = length
  for (let index = start; index < end; index++) hash = (Math.imul(hash, 31) + (bytes[index] as number)) | 0
  const slot = (hash ^ (hash >>> 15)) & (slotCount - 1)
  const text = slots[slot] as string
  if (text.length === length && isSameText(text, bytes, start)) return text
  const made = bytes.toString('latin1', start, end)
  slots[slot] = made
  return made
}

function isSameText(text: string, bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
