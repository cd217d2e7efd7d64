// Bounds how many certificates keep what handshakes are made with: ten thousand sites each once asked for would keep half a
// gigabyte. Used by the server; the certificate that was asked for longest ago forgets first, and builds anew when asked.
import type { Certificate } from './certificate.js'

/** The certificates with contexts, the one used last at the end. */
export class ContextCache {
  #used = new Set<Certificate>()

  /** `certificate` has been asked for a context; at most `max` keep theirs. */
  touch(certificate: Certificate, max: number): void {
    this.#used.delete(certificate)
    this.#used.add(certificate)
    for (const oldest of this.#used) {
      if (this.#used.size <= max) return
      this.#used.delete(oldest)
      oldest.forgetContexts()
    }
  }

  /** Holds none of these any more: what serves no more must leave memory. */
  forget(certificates: ReadonlySet<Certificate>): void {
    for (const certificate of certificates) this.#used.delete(certificate)
  }

  get size(): number {
    return this.#used.size
  }
}
