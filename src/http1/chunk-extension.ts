// Checks the extensions of a chunk (RFC 9112 §7.1.1) byte by byte. Used by the chunked decoder, which leaves them behind;
// knows none of the white space that the grammar calls bad, which no sender may generate.
import { isTokenByte, isValueByte } from '../wire/character.js'

const beforeName = 0
const name = 1
const beforeValue = 2
const token = 3
const quoted = 4
const escaped = 5
const behindQuoted = 6

/** The extensions of one chunk, from behind the first `;` on. */
export class ChunkExtension {
  #state = beforeName

  /** Another one begins. */
  start(): void {
    this.#state = beforeName
  }

  /** Whether the size line may end here. */
  get mayEnd(): boolean {
    return this.#state === name || this.#state === token || this.#state === behindQuoted
  }

  /** Takes one byte; false where the grammar does not allow it. */
  take(byte: number): boolean {
    if (this.#state === quoted || this.#state === escaped) return this.#takeQuoted(byte)
    if (isTokenByte[byte] === 1 && this.#state !== behindQuoted) return this.#takeToken()
    if (byte === 0x3b && this.mayEnd) return this.#enter(beforeName)
    if (byte === 0x3d && this.#state === name) return this.#enter(beforeValue)
    return byte === 0x22 && this.#state === beforeValue && this.#enter(quoted)
  }

  #takeToken(): true {
    return this.#enter(this.#state === beforeName || this.#state === name ? name : token)
  }

  #takeQuoted(byte: number): boolean {
    if (this.#state === escaped) return isValueByte[byte] === 1 && this.#enter(quoted)
    if (byte === 0x5c) return this.#enter(escaped)
    return byte === 0x22 ? this.#enter(behindQuoted) : isValueByte[byte] === 1
  }

  #enter(state: number): true {
    this.#state = state
    return true
  }
}
