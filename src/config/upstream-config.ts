// An upstream as the program uses it: defaults filled in, files read. Made by upstream.ts; only the server's snapshot
// turns it into what runs.

import type { EndpointAddress } from '../net/endpoint-address.js'
import type { Place } from './config-error.js'
import type { TextFile } from './files.js'
import type { StatusRange } from './status-ranges.js'

/** A group of endpoints that answer the same. */
export interface UpstreamConfig {
  /** As sites name it; of one without a name the address of its only endpoint, which no name looks like. */
  readonly name: string
  readonly place: Place
  /** At least one; no two of the same address, not all backups. */
  readonly endpoints: readonly EndpointConfig[]
  /** `auto` is what ALPN chooses, on `https://` endpoints; HTTP/1.1 on all others. */
  readonly protocol: 'http1' | 'h2' | 'auto'
  /** Undefined where no endpoint is `https://`. */
  readonly tls: UpstreamTlsConfig | undefined
  readonly balance: BalanceConfig
  /** Undefined where requests alone tell how an endpoint is. */
  readonly healthCheck: HealthCheckConfig | undefined
  readonly passive: PassiveHealthConfig
  readonly retries: RetryConfig
  readonly limits: EndpointLimits
  readonly timeouts: UpstreamTimeouts
  readonly proxyProtocol: 'v2' | undefined
}

/** One endpoint. */
export interface EndpointConfig {
  readonly address: EndpointAddress
  /** The address as the log names it. */
  readonly label: string
  readonly weight: number
  readonly isBackup: boolean
}

/** TLS to the `https://` endpoints of an upstream. */
export interface UpstreamTlsConfig {
  /** Normalised: for SNI and verification; undefined is the host of the endpoint. */
  readonly serverName: string | undefined
  /** Undefined trusts the runtime's public roots. */
  readonly ca: PemFile | undefined
  /** Shown where the endpoint asks for a certificate. Whether the key fits is not known here. */
  readonly client: { readonly cert: PemFile; readonly key: PemFile } | undefined
  readonly verify: boolean
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
}

/** A PEM file, and the place that names it. */
export interface PemFile extends TextFile {
  readonly place: Place
}

/** How an endpoint is chosen. */
export type BalanceConfig =
  | { readonly kind: 'round-robin' | 'least-requests' | 'random-two' }
  | { readonly kind: 'hash'; readonly key: HashKeyConfig }

/** What is hashed; names of headers are in lower case, names of cookies as written. */
export type HashKeyConfig =
  | { readonly kind: 'client' | 'host' | 'path' }
  | { readonly kind: 'header' | 'cookie'; readonly name: string }

/** Requests of our own that tell whether an endpoint is well. */
export interface HealthCheckConfig {
  /** With the query, if there is one. */
  readonly path: string
  readonly expect: readonly StatusRange[]
  readonly intervalMs: number
  /** Never more than `intervalMs`. */
  readonly timeoutMs: number
  readonly rise: number
  readonly fall: number
  /** As written, port and all; undefined is `tls.serverName`, or the endpoint's own. */
  readonly host: string | undefined
}

/** What failures of requests do to an endpoint. */
export interface PassiveHealthConfig {
  /** In a row; 0 is never. */
  readonly failures: number
  readonly windowMs: number
  /** The first pause. */
  readonly ejectMs: number
}

/** When a request is tried again. */
export interface RetryConfig {
  /** The first one included. */
  readonly attempts: number
  readonly on: readonly RetryCause[]
}

/** No connection, a lost one, or a status. */
export type RetryCause = 'connect' | 'reset' | 502 | 503 | 504

/** Bounds of one endpoint. */
export interface EndpointLimits {
  readonly connections: number
  readonly queued: number
  readonly queueMs: number
}

/** How long an upstream is given. */
export interface UpstreamTimeouts {
  /** TLS included. */
  readonly connectMs: number
  readonly responseMs: number
  /** That a connection is kept unused. */
  readonly idleMs: number
  /** In which no byte of a tunnel moved. */
  readonly tunnelIdleMs: number
}
