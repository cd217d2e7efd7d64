// The one empty line that may stand before a request line (RFC 9112 §2.2), an old client's habit and no attack.
// Used by the server connection; keeps its place, because the line may come in pieces.

/** Skips at most one empty line before each request. */
export class EmptyLine {
  #skippedBytes = 0

  /** The offset behind what belongs to the line, or -1 where a CR stands alone. */
  skip(bytes: Buffer, from: number): number {
    let at = from
    if (this.#skippedBytes === 0 && bytes[at] === 0x0d) {
      this.#skippedBytes = 1
      at++
    }
    if (this.#skippedBytes !== 1 || at === bytes.length) return at
    if (bytes[at] !== 0x0a) return -1
    this.#skippedBytes = 2
    return at + 1
  }

  /** The next request may have one again. */
  reset(): void {
    this.#skippedBytes = 0
  }
}
