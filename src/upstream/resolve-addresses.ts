// The addresses that an endpoint can be reached at, in the order in which they are to be tried. Used by dials; a name's
// come from resolve-name.ts, a literal address and the path of a socket are their own.

/** Hears what was found: exactly one of the two, once for each time it asked. */
export interface AddressSeeker {
  /** At least one, the best first. May be called before the call that asked returns. */
  onFound(addresses: readonly string[]): void
  /** Never called before the call that asked has returned. */
  onNotFound(reason: string): void
}

/** Where an endpoint can be reached. */
export interface AddressSource {
  /** Gives the addresses for a new connection. */
  find(seeker: AddressSeeker): void
  /** None that `find` gave was reachable: gives those of a new lookup, where one can be had now. */
  findAgain(seeker: AddressSeeker): void
  /** The seeker wants to hear nothing more. */
  forget(seeker: AddressSeeker): void
  /** How an attempt at one address ended. */
  onReached(address: string): void
  onUnreachable(address: string): void
}

/** One address that never changes. */
export class FixedAddress implements AddressSource {
  readonly #addresses: readonly string[]

  constructor(address: string) {
    this.#addresses = [address]
  }

  find(seeker: AddressSeeker): void {
    seeker.onFound(this.#addresses)
  }

  findAgain(seeker: AddressSeeker): void {
    setImmediate(() => seeker.onNotFound('there is no other address'))
  }

  forget(): void {}

  onReached(): void {}

  onUnreachable(): void {}
}
