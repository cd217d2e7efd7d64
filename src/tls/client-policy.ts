// ClientPolicy: what a site demands of a client certificate, as a value that can be compared. Made by the snapshot, asked
// for in handshakes and judged per request; knows no mode, because who demands what and who serves without it are two things.
import { createHash } from 'node:crypto'
import { pinnedName } from './client-certificate.js'
import type { ClientTrust } from './client-trust.js'

/** Optional pins: of each kind that is given, one must be met. */
export interface ClientPins {
  /** SHA-256 of the certificate, hexadecimal in lower case. */
  readonly fingerprints: readonly string[]
  /** Subject alternative names as people write them: hosts, addresses, mail addresses, URIs. */
  readonly sans: readonly string[]
  /** Whole subjects on one line, as the log shows them. */
  readonly subjects: readonly string[]
}

/** A demand; policies with the same id are interchangeable on one connection. */
export interface ClientPolicy {
  readonly id: string
  readonly trust: ClientTrust
  /** In the spelling that certificates are compared in; an empty set is a kind that is not given. */
  readonly pins: { readonly [Kind in keyof ClientPins]: ReadonlySet<string> }
}

/** Makes a policy; the order of pins says nothing. */
export function clientPolicy(trust: ClientTrust, pins: ClientPins): ClientPolicy {
  const sets = {
    fingerprints: new Set(pins.fingerprints),
    sans: new Set(pins.sans.map(pinnedName)),
    subjects: new Set(pins.subjects),
  }
  const parts = [trust.id, ...[sets.fingerprints, sets.sans, sets.subjects].map((kind) => [...kind].sort())]
  return { id: createHash('sha256').update(JSON.stringify(parts)).digest('hex'), trust, pins: sets }
}
