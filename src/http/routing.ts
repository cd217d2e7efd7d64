// What a request's host leads to. A listener's view is taken once for each request, so that an open connection
// follows a reload; no match is `undefined`, and there is no default site that anybody could open by mistake.
import type { Upstream } from '../upstream/upstream.js'
import type { RetryPolicy } from './retry.js'

/** Passes requests on to an upstream. */
export interface ForwardAction {
  readonly kind: 'forward'
  readonly upstream: Upstream
  /** Whether a Via line is added; a backend nginx stops compressing when it sees one. */
  readonly via: boolean
  readonly retries: RetryPolicy
}

/** Answers with fixed bytes. */
export interface RespondAction {
  readonly kind: 'respond'
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
}

/** Sends clients elsewhere; path and query are kept. */
export interface RedirectAction {
  readonly kind: 'redirect'
  /** Scheme and authority, without a slash at the end. */
  readonly to: string
  readonly status: number
}

/** What a site does with a request. */
export type SiteAction = ForwardAction | RespondAction | RedirectAction

/** The names and the action of one site. */
export interface VirtualHost {
  /** As the log names it: its first host. */
  readonly id: string
  readonly action: SiteAction
  /** Whether its requests are logged. */
  readonly access: boolean
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
  /** Known hosts are sent to https, but for ACME challenges. */
  readonly redirectToHttps: boolean
  /** Whether requests that reach no site are logged. */
  readonly access: boolean
  /** Whether the query is part of the logged target. */
  readonly logQuery: boolean
  /** Request headers, in lower case, that are added to the log line. */
  readonly logHeaders: readonly string[]
}
