// What a request's host leads to. A listener's view is taken once for each request, so that an open connection
// follows a reload; no match is `undefined`, and there is no default site that anybody could open by mistake.
import type { ClientPolicy } from '../tls/client-policy.js'
import type { Upstream } from '../upstream/upstream.js'
import type { AddressRule } from './address-rule.js'
import type { ClientClaims } from './client-claims.js'
import type { HeaderPolicy } from './header-policy.js'
import type { HeldBodies } from './held-body.js'
import type { RetryPolicy } from './retry.js'
import type { TrailerGuard } from './trailer-guard.js'

/** Passes requests on to an upstream. */
export interface ForwardAction {
  readonly kind: 'forward'
  readonly upstream: Upstream
  /** Whether a Via line is added; a backend nginx stops compressing when it sees one. */
  readonly via: boolean
  readonly retries: RetryPolicy
  /** Whether endpoints are told whom each connection is for (PROXY protocol). */
  readonly tellsClient?: boolean
  /** Bytes of the path that the endpoint does not get to see: those of the route, where it is stripped. */
  readonly strippedBytes: number
  /**
   * The scheme of requests over HTTP/2, left out where endpoints speak HTTP/1 alone: that of the connection to the endpoint,
   * since servers such as Kestrel reset what says another one.
   */
  readonly http2Scheme?: 'http' | 'https' | undefined
}

/** Answers with fixed bytes. */
export interface RespondAction {
  readonly kind: 'respond'
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
}

/** Sends clients elsewhere: what follows the replaced bytes of the target, its query too, is kept. */
export interface RedirectAction {
  readonly kind: 'redirect'
  /** Scheme and authority, a path, or both; without a slash at the end. Empty stays where it is. */
  readonly to: string
  readonly replacedBytes: number
  readonly status: number
}

/** What a site does with a request. */
export type SiteAction = ForwardAction | RespondAction | RedirectAction

/** What a site does with paths of one prefix. */
export interface Route {
  /** Begins with a slash and does not end with one, but for `/` itself; without `%`, `;`, dot segments and empty segments. */
  readonly path: string
  readonly action: SiteAction
}

/** A body of the site's own for answers that Hostward makes. */
export interface ErrorPage {
  readonly contentType: string
  readonly body: Buffer
}

/** What a site demands of client certificates. */
export interface ClientDemand {
  readonly policy: ClientPolicy
  /** False serves everybody, and tells services of good certificates alone. */
  readonly isRequired: boolean
  readonly forward: ForwardedCertificate | undefined
}

/** Under which names services are told of a certificate (RFC 9440), as written. */
export interface ForwardedCertificate {
  readonly header: string
  readonly chainHeader: string | undefined
}

/** The action of one site and what it wants of those that pass; what it does not ask for is left out. */
export interface VirtualHost {
  /** As the log names it: its first host. */
  readonly id: string
  /** For paths that no route is for. */
  readonly action: SiteAction
  /** Whether its requests are logged. */
  readonly access: boolean
  /** The longest paths first. */
  readonly routes?: readonly Route[] | undefined
  /** What endpoints get as Host instead of the client's. */
  readonly upstreamHost?: string | undefined
  readonly requestHeaders?: HeaderPolicy | undefined
  /** What may not come behind a body either: what `requestHeaders` and `clientCertificate` name. */
  readonly requestTrailers?: TrailerGuard | undefined
  /** For every final answer, whoever made it. */
  readonly responseHeaders?: HeaderPolicy | undefined
  /** By status. */
  readonly errorPages?: ReadonlyMap<number, ErrorPage> | undefined
  readonly requestBodyBytesMax?: number | undefined
  /** The only addresses that it serves. */
  readonly allow?: AddressRule | undefined
  readonly clientCertificate?: ClientDemand | undefined
  /** Whether requests over TLS 1.2 are refused, whatever name their connection was opened for. */
  readonly needsTls13?: boolean
}

/** Finds the site of a normalised host name. */
export interface RoutingTable {
  get(name: string): VirtualHost | undefined
}

/** What one listener sees: immutable, replaced whole by a reload. */
export interface ListenerView {
  readonly listener: string
  readonly generation: number
  readonly isSecure: boolean
  readonly sites: RoutingTable
  /** The only addresses that may connect, for connections that are open already; undefined where all may. */
  readonly allow?: AddressRule | undefined
  /** What request headers are believed; undefined where none are. */
  readonly claims?: ClientClaims | undefined
  /** Known hosts are sent to https, but for ACME challenges and what was https in front of a trusted proxy. */
  readonly redirectToHttps: boolean
  /** Whether requests that reach no site are logged. */
  readonly access: boolean
  /** Whether the query is part of the logged target. */
  readonly logQuery: boolean
  /** Request headers, in lower case, that are added to the log line. */
  readonly logHeaders: readonly string[]
  /** Which bodies of requests are held until they are whole. */
  readonly heldBodies: HeldBodies
}
