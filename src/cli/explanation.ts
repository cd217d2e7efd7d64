// What would happen to one request on each listener, and why. It asks the snapshot that the server would serve, so that
// it cannot disagree with it. Used by why.
import type { ConfigError, Place } from '../config/config-error.js'
import type { BrokenSite } from '../config/site.js'
import { actionFor } from '../http/routes.js'
import { normalizeHostname, normalizeSitePattern } from '../net/hostname.js'
import type { ListenerPlan, Snapshot } from '../server/snapshot.js'
import { type ExplainedAnswer, explainAnswer, isServed } from './explained-answer.js'
import { type ExplainedCertificate, explainCertificate } from './explained-certificate.js'
import { clientHints, type ExplainedClient, explainClient } from './explained-client.js'
import { formatBind } from './format-bind.js'
import { nearMisses } from './near-names.js'
import { type ExplainedSite, explainSite, matchingPattern, matchSite, type SiteMatch } from './site-match.js'
import { type AskedAddresses, visit } from './visit.js'

/** What is asked. */
export interface Question {
  /** As a client would write it. */
  readonly host: string
  /** As a client would send it; empty for none, undefined for the host. */
  readonly sni: string | undefined
  /** Path and query, as a request has them. */
  readonly path: string
  /** Undefined where no addresses are asked about. */
  readonly addresses: AskedAddresses | undefined
  readonly plans: readonly ListenerPlan[]
}

/** The facts that answers come from. */
export interface Ground {
  readonly snapshot: Snapshot
  readonly brokenSites: readonly BrokenSite[]
}

/** The answer as `why --json` prints it. */
export interface Explanation {
  /** Normalised; null where it is no host name. */
  readonly host: string | null
  /** Normalised; null where none is sent, or none that can be a site's. */
  readonly sni: string | null
  /** Whether a site answers on one of the listeners. */
  readonly answered: boolean
  readonly listeners: readonly ListenerExplanation[]
}

/** What happens on one listener. */
export interface ListenerExplanation {
  readonly listener: string
  readonly bind: string
  readonly tls: boolean
  /** Null where no addresses are asked about. */
  readonly client: ExplainedClient | null
  /** Null on a plain listener. */
  readonly certificate: ExplainedCertificate | null
  readonly site: ExplainedSite | null
  /** The path of the route that decides, null where the site itself does. */
  readonly route: string | null
  readonly answer: ExplainedAnswer
  /** What shuts the client out, null where nothing does. */
  readonly rule: Place | null
  /** Why it is not what may have been expected. */
  readonly hints: readonly string[]
  /** Mistakes of sites that claim the host and do not serve as configured. */
  readonly mistakes: readonly ConfigError[]
}

/** Explains what the listeners of `question` do. */
export function explain({ host, sni, path, addresses, plans }: Question, ground: Ground): Explanation {
  const name = normalizeHostname(host)
  const serverName = serverNameOf(sni, name)
  const listeners = plans.map((plan) => explainListener({ host, name, serverName, path, addresses, plan }, ground))
  const answered = listeners.some(({ answer }) => isServed(answer))
  return { host: name ?? null, sni: serverName ?? null, answered, listeners }
}

// RFC 6066 §3: clients send no SNI for an address, and a port is no part of one.
function serverNameOf(sni: string | undefined, host: string | undefined): string | undefined {
  const name = sni === undefined ? host : sni
  if (name === undefined || /[:[]/.test(name)) return undefined
  if (sni === undefined && /^[\d.]+$/.test(name)) return undefined
  return normalizeHostname(name)
}

interface Case {
  readonly host: string
  readonly name: string | undefined
  readonly serverName: string | undefined
  readonly path: string
  readonly addresses: AskedAddresses | undefined
  readonly plan: ListenerPlan
}

function explainListener({ host, name, serverName, path, addresses, plan }: Case, ground: Ground): ListenerExplanation {
  const { snapshot } = ground
  const { config } = plan
  const visitor = addresses && visit(addresses, plan)
  const match = name === undefined ? undefined : matchSite(name, plan, snapshot)
  const certificate = config.tls ? explainCertificate(serverName, plan, snapshot) : null
  const isClosed = visitor?.closed !== undefined
  const isRefused = certificate?.from === 'alert' && !isClosed
  const answer: ExplainedAnswer = isRefused
    ? { kind: 'alert', alert: 'unrecognized_name' }
    : explainAnswer({ host: name, serverName, path, visit: visitor }, plan)
  return {
    listener: config.name,
    bind: formatBind(config.bind),
    tls: config.tls,
    client: visitor === undefined ? null : explainClient(visitor, plan),
    certificate,
    site: match === undefined ? null : explainSite(match),
    route: routeOf(name, path, plan),
    answer,
    rule: visitor?.closed?.rule ?? siteRule(answer, match),
    hints: [
      ...(visitor === undefined ? allowHints(plan, match) : clientHints(visitor, plan)),
      ...(isClosed ? [] : hintsFor({ host, name, isRefused, isMatched: match !== undefined }, plan, snapshot)),
    ],
    mistakes: name === undefined ? [] : mistakesOf(name, plan, ground),
  }
}

function siteRule(answer: ExplainedAnswer, match: SiteMatch | undefined): Place | null {
  const isShutOut = answer.kind === 'refuse' && answer.reason === 'peer_not_allowed'
  return (isShutOut ? match?.site.vhost.allow?.place : undefined) ?? null
}

function allowHints({ config }: ListenerPlan, match: SiteMatch | undefined): readonly string[] {
  const closed = [...(config.allow ? ['the listener'] : []), ...(match?.site.vhost.allow ? ['the site'] : [])]
  if (closed.length === 0) return []
  const takes = closed.length > 1 ? 'take' : 'takes'
  return [`${closed.join(' and ')} ${takes} certain addresses alone: --client ADDRESS asks for one`]
}

function routeOf(name: string | undefined, path: string, { view }: ListenerPlan): string | null {
  const site = name === undefined ? undefined : view.sites.get(name)
  const action = site && actionFor(site, path)
  return site?.routes?.find((route) => route.action === action)?.path ?? null
}

interface Outcome {
  readonly host: string
  readonly name: string | undefined
  readonly isRefused: boolean
  readonly isMatched: boolean
}

function hintsFor(
  { host, name, isRefused, isMatched }: Outcome,
  plan: ListenerPlan,
  snapshot: Snapshot,
): readonly string[] {
  if (name === undefined) return [authorityHint(host)]
  const hints = isMatched ? demandHints(name, plan) : unknownHints(name, plan, snapshot)
  if (!isRefused) return hints
  return [...hints, 'a fallbackCertificate lets such handshakes succeed, so that the Host decides']
}

function demandHints(name: string, { view, config }: ListenerPlan): readonly string[] {
  const demand = view.sites.get(name)?.clientCertificate
  if (demand?.isRequired !== true || view.redirectToHttps) return []
  if (!config.tls) return ['it demands a client certificate, which nobody can show here']
  return ['it demands a client certificate: a connection that was opened for its name is asked for one, 403 without']
}

function authorityHint(host: string): string {
  const pattern = normalizeSitePattern(host)
  if ('value' in pattern) return spellingHint(pattern.value)
  return `${JSON.stringify(host)} ${pattern.mistake}${pattern.hint === undefined ? '' : `: ${pattern.hint}`}`
}

function spellingHint(pattern: string): string {
  if (pattern.startsWith('*.')) return 'a request names one host: write a label in place of the star'
  return `clients send it as "${pattern.includes(':') ? `[${pattern}]` : pattern}"`
}

function unknownHints(name: string, { config }: ListenerPlan, { sites }: Snapshot): readonly string[] {
  const elsewhere = sites.find(({ vhost }) => matchingPattern(name, vhost.hosts) !== undefined)
  if (elsewhere !== undefined) {
    const { id, listeners } = elsewhere.vhost
    return [`site ${id} claims it, but on ${listeners.join(', ')} alone: add ${config.name} to its listeners`]
  }
  const here = sites.filter(({ vhost }) => vhost.listeners.includes(config.name))
  return nearMisses(
    name,
    here.flatMap(({ vhost }) => vhost.hosts),
  )
}

function mistakesOf(name: string, { config }: ListenerPlan, { snapshot, brokenSites }: Ground): readonly ConfigError[] {
  const broken = brokenSites.filter(({ hosts }) => matchingPattern(name, hosts) !== undefined)
  const concerned = snapshot.config.vhosts.filter(
    ({ hosts, listeners }) => listeners.includes(config.name) && matchingPattern(name, hosts) !== undefined,
  )
  const ids = new Set(concerned.map(({ id }) => id))
  const soundButDegraded = snapshot.degraded.filter(({ vhost }) => ids.has(vhost))
  return [...broken, ...soundButDegraded].flatMap(({ errors }) => errors)
}
