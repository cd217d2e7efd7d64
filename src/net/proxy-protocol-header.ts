// What a PROXY header says, whatever its version, and what the bytes received so far are. Types for the readers of both
// versions and for the listener.

import type { ProxiedAddresses } from './proxy-protocol-v2.js'

/** A whole and sound header. */
export interface ProxyHeader {
  readonly version: 1 | 2
  /** How many bytes it takes; what follows is payload, a second header too. */
  readonly byteCount: number
  /** Undefined: it names no IP client (LOCAL, UNKNOWN, UNSPEC, datagrams, Unix sockets), so the socket's addresses stand. */
  readonly claim: ProxiedAddresses | undefined
  /** What version 2 says beyond addresses. All of it is a claim, and none of it is a proof. */
  readonly extensions: ProxyExtensions
}

/** What the sender says of the TLS that it ended. */
export interface ProxiedTls {
  readonly isUsed: boolean
  /** The client showed a certificate, on this connection or an earlier one of its session, and it was found good. */
  readonly hasProvenCertificate: boolean
  readonly version?: string
  readonly commonName?: string
}

/** What the sender says about the connection that it forwards; left out what it does not say. */
export interface ProxyExtensions {
  /** The application protocol as bytes; senders also put lists here. */
  readonly alpn?: Buffer
  /** The server name that the client asked for, in the spelling of `normalizeHostname`. */
  readonly authority?: string
  /** At most 128 bytes that mean something to the sender. */
  readonly uniqueId?: Buffer
  readonly tls?: ProxiedTls
  /** The name of the sender's network namespace. */
  readonly namespace?: string
  /** How many were passed over because one like it came before, or because its text is none. */
  readonly ignoredCount: number
}

/** What is wrong with bytes that began as a header. */
export type ProxyMistake =
  | 'proxy_v1_line'
  | 'proxy_v1_fields'
  | 'proxy_v1_family'
  | 'proxy_v1_address'
  | 'proxy_v1_port'
  | 'proxy_v2_version'
  | 'proxy_v2_command'
  | 'proxy_v2_family'
  | 'proxy_v2_transport'
  | 'proxy_v2_too_long'
  | 'proxy_v2_addresses'
  | 'proxy_v2_extensions'
  | 'proxy_v2_checksum'

/** What the first bytes of a connection are. More bytes change only `incomplete`. */
export type ProxyVerdict =
  | { readonly kind: 'header'; readonly header: ProxyHeader }
  /** No sooner than with this many bytes in all can the verdict be another. */
  | { readonly kind: 'incomplete'; readonly bytesNeeded: number }
  /** Told at the first byte that no header has there. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed'; readonly mistake: ProxyMistake }
