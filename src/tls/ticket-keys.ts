// The keys that session tickets are sealed with: one for each certificate and terms, all derived from one secret that moves
// on with time and cannot be turned back. Owned by the server; processes that begin with the same secret stay in step.
import { createHash, hkdfSync, randomBytes } from 'node:crypto'

/** How long a generation of keys seals; after it a client makes one full handshake, which CDNs make for a whole pool. */
export const generationMs = 6 * 3_600_000

/** Where keys start from. */
export interface TicketKeysOptions {
  /** 32 secret bytes of the generation of this moment; left out, random ones. */
  readonly secret?: Buffer
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

/** Keys of the current generation; those of earlier ones are gone for good. */
export class TicketKeys {
  readonly #clock: () => number
  #secret: Buffer
  #generation: number

  constructor({ secret = randomBytes(32), clock }: TicketKeysOptions) {
    this.#clock = clock
    this.#secret = secret
    this.#generation = this.#generationNow()
  }

  /** Grows with time; a context of an earlier one must be built anew. */
  get generation(): number {
    const now = this.#generationNow()
    // A clock that is set back changes nothing: what is forgotten cannot be had again.
    while (this.#generation < now) {
      this.#generation += 1
      this.#secret = createHash('sha256').update('hostward next generation').update(this.#secret).digest()
    }
    return this.#generation
  }

  /** The 48 bytes that `createSecureContext` takes, for what `name` tells from all others. */
  keyOf(name: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, '', `hostward tickets ${name}`, 48))
  }

  #generationNow(): number {
    return Math.floor(this.#clock() / generationMs)
  }
}
