// Where an endpoint is and how it is spoken to. Made once per endpoint and shared by all its dials; holds what they learn:
// the addresses of a name, TLS sessions, the certificate of the other side.
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import type { EndpointAddress } from '../net/endpoint-address.js'
import { type AddressSource, FixedAddress } from './resolve-addresses.js'
import type { Lookups } from './resolve-lookups.js'
import { type LookupPace, ResolvedName } from './resolve-name.js'
import { TlsClient } from './tls-client.js'
import type { TlsContext } from './tls-context.js'
import type { PeerCertificate } from './tls-peer.js'

/** What a target is made of. */
export interface TargetOptions {
  readonly address: EndpointAddress
  /** `auto` is what ALPN chooses, and HTTP/1 where there is no TLS. */
  readonly protocol: 'http1' | 'h2' | 'auto'
  /** Used where the address asks for TLS; shared by the endpoints of an upstream. */
  readonly tls?: TlsContext | undefined
  /** The name for SNI and verification, normalised; undefined is the host of the address. */
  readonly serverName?: string | undefined
  readonly lookups: Lookups
  readonly pace?: LookupPace | undefined
  readonly observer: TargetObserver
}

/** Hears what the dials of a target learn. */
export interface TargetObserver {
  /** Whether connections are open; a name is looked up again and again as long as they are. */
  isInUse(): boolean
  /** The name stands for these addresses now: connections to others have no future. */
  onAddresses(addresses: readonly string[]): void
  /** The endpoint shows another certificate than before, accepted or not; `address` is one of its addresses. */
  onPeerCertificate(certificate: PeerCertificate, address: string): void
}

/** Where an endpoint is and how it is spoken to; closed by its endpoint. */
export class DialTarget {
  readonly addresses: AddressSource
  /** Undefined: the address is the path of a Unix socket. */
  readonly port: number | undefined
  readonly protocol: 'http1' | 'h2' | 'auto'
  /** Undefined: plain. */
  readonly tls: TlsClient | undefined
  readonly #name: ResolvedName | undefined

  constructor(options: TargetOptions) {
    const { address, protocol } = options
    this.protocol = protocol
    this.#name = needsLookup(address) ? nameOf(address.host, options) : undefined
    this.addresses = this.#name ?? new FixedAddress(address.kind === 'unix' ? address.path : address.host)
    this.port = address.kind === 'unix' ? undefined : address.port
    this.tls = tlsOf(options)
  }

  /** Looks its name up no more. */
  close(): void {
    this.#name?.close()
  }
}

type TcpAddress = Extract<EndpointAddress, { readonly kind: 'tcp' }>

function needsLookup(address: EndpointAddress): address is TcpAddress {
  return address.kind === 'tcp' && isIP(address.host) === 0
}

function nameOf(name: string, { lookups, pace, observer }: TargetOptions): ResolvedName {
  return new ResolvedName({ name, lookups, pace, observer })
}

function tlsOf({ address, tls, serverName, protocol, observer }: TargetOptions): TlsClient | undefined {
  if (address.kind === 'unix' || !address.tls) return undefined
  assert(tls !== undefined, 'an endpoint behind TLS has a context')
  return new TlsClient({ context: tls, serverName: serverName ?? address.host, protocol, observer })
}
