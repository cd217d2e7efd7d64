// What a listener counts, as plain numbers for the `connections` line. Read by the server at any time, written by the
// listener alone.

import type { ProxyHeader } from '../net/proxy-protocol-header.js'
import type { FoundHeader, ProxyRefusal } from './preamble.js'

/**
 * Of `accepted`, each is `open`, or has had a request, or has failed its handshake, or has closed `withoutRequest`, or was
 * `refusedByAllow`.
 * `refusedByLimit` and `acceptErrors` are not among the accepted. PROXY headers are counted where they are looked for;
 * those that were refused are among `handshakesFailed`.
 */
export interface ListenerCounters {
  accepted: number
  open: number
  handshakesFailed: number
  withoutRequest: number
  refusedByLimit: number
  refusedByAllow: number
  acceptErrors: number
  /** Sound headers from listed sources. */
  proxyV1: number
  proxyV2: number
  /** Those of them that name no client: LOCAL, UNKNOWN, Unix sockets. */
  proxyLocal: number
  /** Connections from listed sources that began without a header; while it grows, `require` would close them. */
  proxyAbsent: number
  /** Connections from listed sources that were closed for that. */
  proxyMissing: number
  /** Headers from sources that are not listed. */
  proxyUntrusted: number
  /** Headers of a version that is not allowed. */
  proxyWrongVersion: number
  proxyMalformed: number
  /** Extensions of sound headers that came twice or held no host name. */
  proxyExtensionsIgnored: number
}

/** All zero. */
export function newCounters(): ListenerCounters {
  return {
    accepted: 0,
    open: 0,
    handshakesFailed: 0,
    withoutRequest: 0,
    refusedByLimit: 0,
    refusedByAllow: 0,
    acceptErrors: 0,
    proxyV1: 0,
    proxyV2: 0,
    proxyLocal: 0,
    proxyAbsent: 0,
    proxyMissing: 0,
    proxyUntrusted: 0,
    proxyWrongVersion: 0,
    proxyMalformed: 0,
    proxyExtensionsIgnored: 0,
  }
}

/** Counts what stood where a PROXY header may. */
export function countHeader(counters: ListenerCounters, found: FoundHeader): void {
  if (found.kind === 'absent') counters.proxyAbsent += found.isTrusted ? 1 : 0
  else if (found.kind === 'refused') counters[refusalCounters[found.reason] ?? 'proxyMalformed'] += 1
  else countSound(counters, found.header)
}

const refusalCounters: { readonly [Reason in ProxyRefusal]?: keyof ListenerCounters } = {
  proxy_untrusted: 'proxyUntrusted',
  proxy_missing: 'proxyMissing',
  proxy_version: 'proxyWrongVersion',
}

function countSound(counters: ListenerCounters, { version, claim, extensions }: ProxyHeader): void {
  counters[version === 1 ? 'proxyV1' : 'proxyV2'] += 1
  if (claim === undefined) counters.proxyLocal += 1
  counters.proxyExtensionsIgnored += extensions.ignoredCount
}
