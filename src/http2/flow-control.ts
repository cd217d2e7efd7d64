// How much a client may send (RFC 9113 §5.2, §6.9). Windows of streams begin small and grow while their bodies are taken
// as fast as they come; a stream that stalls holds its own window and nothing else.

/** What one side may still send, and what it has earned back. */
export class ReceiveWindow {
  #availableBytes: number
  #sizeBytes: number
  #owedBytes = 0

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes
    this.#availableBytes = sizeBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Takes what came; false where it is more than was allowed. */
  take(bytes: number): boolean {
    this.#availableBytes -= bytes
    return this.#availableBytes >= 0
  }

  /** Bytes were consumed and may be given back. */
  owe(bytes: number): void {
    this.#owedBytes += bytes
  }

  /** Whether giving back is worth a frame. */
  get isDue(): boolean {
    return this.#owedBytes * 2 >= this.#sizeBytes
  }

  /** What to give back now, `extraBytes` of growth included. */
  credit(extraBytes: number): number {
    const bytes = this.#owedBytes + extraBytes
    this.#owedBytes = 0
    this.#sizeBytes += extraBytes
    this.#availableBytes += bytes
    return bytes
  }
}

/** What the streams of one connection may have beyond their first windows, all together. */
export class WindowPool {
  #leftBytes: number

  constructor(bytes: number) {
    this.#leftBytes = bytes
  }

  /** As much of `bytes` as is left. */
  acquire(bytes: number): number {
    const granted = Math.max(0, Math.min(bytes, this.#leftBytes))
    this.#leftBytes -= granted
    return granted
  }

  release(bytes: number): void {
    this.#leftBytes += bytes
  }
}
