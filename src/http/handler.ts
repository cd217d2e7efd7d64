// One request in five steps, whatever the wire: name, match, admit, forward, finish. The service of one listener;
// takes the listener's view anew for each request, so that open connections follow a reload.
import type { Downstream, Refusal, RequestService } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import { admit } from './admit.js'
import { fixedAnswer, redirectAnswer } from './answer.js'
import { type AccessLog, Exchange, type ExchangeHome } from './exchange.js'
import { forward } from './forward.js'
import { type RequestedHost, requestedHost } from './host.js'
import type { OpenTunnels } from './open-tunnels.js'
import { refusalEntry } from './refusal-entry.js'
import { actionFor, locationOf } from './routes.js'
import type { ListenerView, VirtualHost } from './routing.js'
import { tunnelRefusal } from './tunnel-refusal.js'
import { answerWhole } from './whole-request.js'

const challengePath = '/.well-known/acme-challenge/'

const badAuthority = new Failure('bad_authority', 'not exactly one host name')
const ambiguousPath = new Failure('ambiguous_path', 'a dot segment, or a path that another reader takes for another')
const peerNotAllowed = new Failure('peer_not_allowed', 'the address is not among those that the site serves')
const shutOutHere = new Failure('peer_not_allowed', 'the address is no longer among those that the listener takes')
const unknownHost = new Failure('unknown_host', 'no site on this listener claims the host')

/** What a handler is made of. */
export type RequestHandlerOptions = Pick<ExchangeHome, 'view' | 'log' | 'tunnels'>

/** Answers the requests of one listener. */
export class RequestHandler implements RequestService, ExchangeHome {
  readonly view: () => ListenerView
  readonly log: AccessLog
  readonly tunnels: OpenTunnels

  constructor({ view, log, tunnels }: RequestHandlerOptions) {
    this.view = view
    this.log = log
    this.tunnels = tunnels
  }

  handle(downstream: Downstream): void {
    const exchange = new Exchange(downstream, this)
    const { view } = exchange
    if (view.allow !== undefined && !view.allow.admits(exchange)) return shutOut(exchange)
    if (view.claims !== undefined) exchange.claim = view.claims.judge(downstream)
    const host = requestedHost(downstream.request)
    if (host === undefined) return exchange.fail(badAuthority)
    exchange.host = host.name
    const site = view.sites.get(host.name)
    if (site === undefined) return exchange.fail(unknownHost)
    exchange.site = site
    if (site.allow !== undefined && !site.allow.admits(exchange)) return exchange.fail(peerNotAllowed)
    if (view.redirectToHttps && exchange.scheme === 'http' && !downstream.request.target.startsWith(challengePath)) {
      return answerWhole(exchange, redirectAnswer(308, `https://${authorityOf(host.name)}${pathOf(downstream)}`))
    }
    const refusal = admit(exchange, site)
    if (refusal !== undefined) return exchange.fail(refusal)
    act(exchange, site, host)
  }

  refused(refusal: Refusal): void {
    const view = this.view()
    if (view.access) this.log.request(refusalEntry(refusal, view))
  }

  refusalOf(tunnel: Exchange): Failure | undefined {
    return tunnelRefusal(tunnel, this.view())
  }
}

// Whoever connects now is closed without a word. This connection was let in before a reload, and a request deserves an answer.
function shutOut(exchange: Exchange): void {
  exchange.isConnectionStale = true
  exchange.fail(shutOutHere)
}

function act(exchange: Exchange, site: VirtualHost, host: RequestedHost): void {
  const action = actionFor(site, exchange.downstream.request.target)
  if (action === undefined) return exchange.fail(ambiguousPath)
  if (action.kind === 'forward') return forward(exchange, action, host)
  if (action.kind === 'redirect')
    return answerWhole(exchange, redirectAnswer(action.status, locationOf(pathOf(exchange.downstream), action)))
  answerWhole(exchange, fixedAnswer({ ...action, method: exchange.method }))
}

/** A host as it stands in a URL: without a port, since visitors reach the public one. */
function authorityOf(name: string): string {
  return name.includes(':') ? `[${name}]` : name
}

/** The path and query to send a client to; `*` has neither. */
function pathOf(downstream: Downstream): string {
  const { target } = downstream.request
  return target === '*' ? '/' : target
}
