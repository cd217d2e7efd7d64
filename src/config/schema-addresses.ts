// Addresses as people write them: named sets and lists of sources. Used by the schemas of the main file, of listeners and
// of sites.

import { z } from 'zod'
import { isSetName, parseAddressSource } from '../net/address-source.js'
import { headerName, list, path, readBy, whole } from './schema-parts.js'

/** Sets of addresses by name. */
export const addressSetsSchema = z.record(
  z.string().refine(isSetName, { error: 'must be a letter and up to 63 letters, digits, "_" or "-"' }),
  path().describe('File of the set, relative to this file: an address or a CIDR range a line, comments from "#".'),
)

/** Addresses, ranges and names of sets. */
export function addressSources() {
  return list(readBy(parseAddressSource), 1, 10_000)
}

const claimSourceSchema = z.strictObject({
  from: addressSources().describe(
    'Addresses, CIDR ranges and names of `addressSets` whose word is taken: of the peer, or of what its PROXY header claims.',
  ),
  header: headerName().describe(
    'Where they name the client: CF-Connecting-IP or any other with one address, X-Forwarded-For, or Forwarded.',
  ),
  hopsMax: whole(0, 100)
    .default(10)
    .describe(
      'Addresses of `from` that are passed over in a list, read from its end; behind more nothing is believed.',
    ),
})

/** Whom the client's address is believed of; several where several networks are in front. */
export function clientAddress() {
  return z.union([claimSourceSchema, list(claimSourceSchema, 1, 20)])
}

/** The only addresses that a listener takes. */
export const listenerAllowSchema = z.strictObject({
  from: addressSources().describe('Addresses, CIDR ranges and names of `addressSets`; all others are closed at once.'),
  of: z
    .enum(['peer', 'claimed'])
    .default('peer')
    .describe('Which address is meant: the measured one, or what the PROXY header claims, where it claims one.'),
})

/** The only addresses that a site serves. */
export const siteAllowSchema = z.strictObject({
  from: addressSources().describe('Addresses, CIDR ranges and names of `addressSets`; all others are answered 403.'),
  of: z
    .enum(['peer', 'claimed', 'client'])
    .default('peer')
    .describe(
      'Which address is meant: the measured one, what the PROXY header claims, where it claims one, or the client that `clientAddress` believes in, where it does.',
    ),
})
