// What an endpoint is made of, in three parts: what it is, what may change while it lives, and what stands around it.
// Used by whoever makes endpoints; equal identities are one endpoint, which a reload keeps with all that it knows.
import type { FieldLimits } from '../http1/field-lines.js'
import type { EndpointAddress } from '../net/endpoint-address.js'
import type { ClientTimeouts } from '../wire/client-connection.js'
import type { PassiveOptions } from './ejection.js'
import type { Endpoint } from './endpoint.js'
import type { HealthCheckOptions } from './health-check.js'
import type { PoolLimits } from './places.js'
import type { TlsContext } from './tls-context.js'
import type { PeerCertificate } from './tls-peer.js'

/** What an endpoint is: whoever changes any of it names another one. */
export interface EndpointIdentity {
  readonly address: EndpointAddress
  /** As the log and `hostward why` name it; unique in its upstream. */
  readonly label: string
  /** What is spoken; `auto` is what a TLS handshake chooses. HTTP/1 where nothing is said. */
  readonly protocol?: 'http1' | 'h2' | 'auto'
  /** Needed where the address asks for TLS. */
  readonly tls?: TlsContext | undefined
  /** The name for SNI and verification, normalised; the host of the address where nothing is said. */
  readonly serverName?: string | undefined
  /** The header that each connection begins with, which names its client; none where nothing is said. */
  readonly proxyProtocol?: 'v2' | undefined
}

/** What may change while it lives. */
export interface EndpointSettings {
  readonly timeouts: ClientTimeouts & { readonly connectMs: number }
  readonly limits: FieldLimits
  readonly pool?: PoolLimits
  readonly passive?: PassiveOptions
  /** Undefined where nobody checks. */
  readonly healthCheck?: HealthCheckOptions | undefined
}

/** Why an endpoint is used no more, or again. */
export interface HealthChange {
  /** Whose observation: that of our own checks, or of requests. */
  readonly by: 'check' | 'requests'
  readonly detail: string
}

/** Hears of changes, not of each observation. */
export interface EndpointObserver {
  onDown(endpoint: Endpoint, change: HealthChange): void
  onUp(endpoint: Endpoint, change: HealthChange): void
  /** It shows another certificate than before, accepted or not, at one of its addresses. */
  onPeerCertificate?(endpoint: Endpoint, certificate: PeerCertificate, address: string): void
}

/** What stands around an endpoint; each part has a default that is right for one alone. */
export interface EndpointSurroundings {
  readonly observer?: EndpointObserver
  /** Milliseconds on a clock that never jumps. */
  readonly now?: () => number
  /** Numbers from 0 up to but not including 1. */
  readonly random?: () => number
}

/** What an endpoint is made of. */
export type EndpointOptions = EndpointIdentity & EndpointSettings & EndpointSurroundings

/** The endpoints that requests could go to instead. */
export interface Peers {
  hasOther(than: Endpoint): boolean
}
