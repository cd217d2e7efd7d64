// Gathers a head that comes in pieces, at a price that grows with its bytes alone: a client that sends one byte at a time
// makes us neither copy nor scan the same bytes again. Used by both sides.

const initialBytes = 2048

/** The bytes of a head that is not complete yet. */
export class HeadBuffer {
  #bytes = Buffer.allocUnsafe(initialBytes)
  #length = 0
  #scanned = 0
  #hasLine = false

  get length(): number {
    return this.#length
  }

  append(chunk: Buffer): void {
    const length = this.#length + chunk.length
    if (length > this.#bytes.length) {
      const bytes = Buffer.allocUnsafe(Math.max(length, this.#bytes.length * 2))
      this.#bytes.copy(bytes, 0, 0, this.#length)
      this.#bytes = bytes
    }
    chunk.copy(this.#bytes, this.#length)
    this.#length = length
  }

  /** Whether the bytes since the last call end the first line or the head, or break it, so that parsing again can decide something. */
  isWorthParsing(): boolean {
    const bytes = this.bytes
    if (this.#hasBareReturn(bytes)) return true
    for (let at = bytes.indexOf(0x0a, this.#scanned); at !== -1; at = bytes.indexOf(0x0a, at + 1)) {
      const isFirstLine = !this.#hasLine
      this.#hasLine = true
      if (isFirstLine || bytes[at - 1] !== 0x0d || bytes[at - 2] === 0x0a) {
        this.#scanned = at + 1
        return true
      }
    }
    this.#scanned = this.#length
    return false
  }

  /** A CR without its LF can be decided at once; the CR itself may have been the last byte of the call before. */
  #hasBareReturn(bytes: Buffer): boolean {
    const from = Math.max(0, this.#scanned - 1)
    for (let at = bytes.indexOf(0x0d, from); at !== -1 && at + 1 < bytes.length; at = bytes.indexOf(0x0d, at + 1)) {
      if (bytes[at + 1] !== 0x0a) return true
    }
    return false
  }

  /** What has come so far. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }
}
