// What a request for a name would be answered on a listener. The view of the snapshot decides. Used by why.
import { actionFor, locationOf } from '../http/routes.js'
import type { SiteAction } from '../http/routing.js'
import { formatOrigin } from '../net/origin.js'
import type { ListenerPlan } from '../server/snapshot.js'
import { type FailureCode, failureRules } from '../wire/failure.js'
import { type AskedRequest, type ExplainedUpstream, explainUpstream } from './explained-upstream.js'
import type { ClosedDoor, Visit } from './visit.js'

/** What a site itself does. */
export type SiteAnswer =
  | ({ readonly kind: 'forward' } & ExplainedUpstream)
  | { readonly kind: 'respond'; readonly status: number; readonly contentType: string }
  | { readonly kind: 'redirect'; readonly status: number; readonly location: string }

/** Why a request is not served. */
export interface RefusedAnswer {
  readonly kind: 'refuse'
  readonly status: number
  readonly reason: FailureCode
  readonly meaning: string
}

/** The connection is closed before anything is read of a request. */
export interface ClosedAnswer extends Pick<ClosedDoor, 'reason'> {
  readonly kind: 'close'
  readonly meaning: string
}

/** An answer as `why --json` prints it; the path and query follow the `location` of `redirect_to_https`. */
export type ExplainedAnswer =
  | SiteAnswer
  | {
      readonly kind: 'redirect_to_https'
      readonly status: 308
      readonly location: string
      /** What requests under /.well-known/acme-challenge/ get. */
      readonly challenges: SiteAnswer | RefusedAnswer
    }
  | RefusedAnswer
  | { readonly kind: 'alert'; readonly alert: 'unrecognized_name' }
  | ClosedAnswer

/** What is asked of a listener; a host of undefined stands for an authority that is no host name. */
export type AskedAnswer = Pick<AskedRequest, 'path'> & {
  readonly host: string | undefined
  /** Undefined where no addresses are asked about. */
  readonly visit: Visit | undefined
  /** The name that the connection is opened for, normalised. */
  readonly serverName: string | undefined
}

/** The answer to a request for a normalised name. */
export function explainAnswer(asked: AskedAnswer, plan: ListenerPlan): ExplainedAnswer {
  const { host: name, serverName, path, visit } = asked
  const { view } = plan
  if (visit?.closed !== undefined) return closedAnswer(visit.closed)
  if (name === undefined) return refusal('bad_authority')
  const site = view.sites.get(name)
  if (site === undefined) return refusal('unknown_host')
  if (visit !== undefined && site.allow?.admits(visit) === false) return refusal('peer_not_allowed')
  const action = actionFor(site, path)
  if (action === undefined) return refusal('ambiguous_path')
  // Who is not asked for a certificate shows none; whether one that is shown would do is not known here.
  const isClosed = site.clientCertificate?.isRequired === true && !asksForCertificate(serverName, plan)
  const request = { host: name, path, client: visit?.clientAddress }
  const answer = isClosed ? refusal('client_certificate_other_connection') : siteAnswer(action, request)
  if (!view.redirectToHttps) return answer
  const location = formatOrigin({ scheme: 'https', host: name, port: 443 })
  return { kind: 'redirect_to_https', status: 308, location, challenges: answer }
}

/** Whether a site answers, in whatever way. */
export function isServed({ kind }: ExplainedAnswer): boolean {
  return kind !== 'refuse' && kind !== 'alert' && kind !== 'close'
}

const closeMeanings: Record<ClosedDoor['reason'], string> = {
  not_allowed: 'the listener takes certain addresses alone, and not this one',
  proxy_missing: 'it is among those that must send a PROXY header',
  proxy_untrusted: 'it is not among those whose PROXY header is believed',
}

function closedAnswer({ reason }: ClosedDoor): ClosedAnswer {
  return { kind: 'close', reason, meaning: closeMeanings[reason] }
}

function siteAnswer(action: SiteAction, request: AskedRequest): SiteAnswer {
  if (action.kind === 'forward') return { kind: 'forward', ...explainUpstream(action.upstream, request) }
  if (action.kind === 'redirect')
    return { kind: 'redirect', status: action.status, location: locationOf(request.path, action) }
  return { kind: 'respond', status: action.status, contentType: action.contentType }
}

function asksForCertificate(serverName: string | undefined, { config, handshakeFor }: ListenerPlan): boolean {
  return config.tls && handshakeFor(serverName).certificateRequest !== undefined
}

function refusal(reason: FailureCode): RefusedAnswer {
  const { status, meaning } = failureRules[reason]
  return { kind: 'refuse', status, reason, meaning }
}
