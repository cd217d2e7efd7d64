// The only addresses that a listener takes connections of. Used by the listener before anything is said.

import type { AddressTest } from '../net/cidr.js'

/** Some addresses, and which address of a connection must be one of them. */
export interface AddressRules {
  readonly from: AddressTest
  /** The measured one, or what the PROXY header claims, where it claims one. */
  readonly of: 'peer' | 'claimed'
}
