// Whether a request comes from certain addresses. Used for sites that serve some addresses alone and for claims that are
// believed from some. What a connection is asked is remembered with it; a reload makes other rules, which ask again.
import type { AddressTest } from '../net/cidr.js'
import type { Connection } from '../wire/connection.js'

/**
 * Which of the addresses of a request is meant: the measured one; what a trusted PROXY header claims, where there is one;
 * or the client as a trusted request header names it, where there is one.
 */
export type AddressKind = 'peer' | 'claimed' | 'client'

/** What a rule asks of an exchange. */
interface AskedExchange {
  readonly clientAddress: string
  readonly downstream: { readonly connection: Connection }
}

/** Some addresses. */
export class AddressRule {
  readonly #from: AddressTest
  readonly #of: AddressKind
  readonly #verdicts = new WeakMap<Connection, boolean>()

  constructor({ from, of }: { from: AddressTest; of: AddressKind }) {
    this.#from = from
    this.#of = of
  }

  /** Whether a request comes from them. */
  admits(exchange: AskedExchange): boolean {
    if (this.#of === 'client') return this.#from.has(exchange.clientAddress)
    return this.admitsConnection(exchange.downstream.connection)
  }

  /** The same where requests have no say. */
  admitsConnection(connection: Connection): boolean {
    const known = this.#verdicts.get(connection)
    if (known !== undefined) return known
    const { claimedAddress, peerAddress } = connection
    const verdict = this.#from.has(this.#of === 'peer' ? peerAddress : (claimedAddress ?? peerAddress))
    this.#verdicts.set(connection, verdict)
    return verdict
  }
}
