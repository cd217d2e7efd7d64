// What a request for a name would be answered on a listener. The view of the snapshot decides. Used by why.
import { actionFor, locationOf } from '../http/routes.js'
import type { SiteAction } from '../http/routing.js'
import { formatOrigin } from '../net/origin.js'
import type { ListenerPlan } from '../server/snapshot.js'
import { type FailureCode, failureRules } from '../wire/failure.js'
import { type AskedRequest, type ExplainedUpstream, explainUpstream } from './explained-upstream.js'

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

/** What is asked of a listener; a host of undefined stands for an authority that is no host name. */
export type AskedAnswer = Omit<AskedRequest, 'host'> & {
  readonly host: string | undefined
  /** The name that the connection is opened for, normalised. */
  readonly serverName: string | undefined
}

/** The answer to a request for a normalised name. */
export function explainAnswer({ host: name, serverName, ...rest }: AskedAnswer, plan: ListenerPlan): ExplainedAnswer {
  const { view } = plan
  if (name === undefined) return refusal('bad_authority')
  const site = view.sites.get(name)
  if (site === undefined) return refusal('unknown_host')
  const action = actionFor(site, rest.path)
  if (action === undefined) return refusal('ambiguous_path')
  // Who is not asked for a certificate shows none; whether one that is shown would do is not known here.
  const isClosed = site.clientCertificate?.isRequired === true && !asksForCertificate(serverName, plan)
  const answer = isClosed ? refusal('client_certificate_other_connection') : siteAnswer(action, { ...rest, host: name })
  if (!view.redirectToHttps) return answer
  const location = formatOrigin({ scheme: 'https', host: name, port: 443 })
  return { kind: 'redirect_to_https', status: 308, location, challenges: answer }
}

/** Whether a site answers, in whatever way. */
export function isServed({ kind }: ExplainedAnswer): boolean {
  return kind !== 'refuse' && kind !== 'alert'
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
