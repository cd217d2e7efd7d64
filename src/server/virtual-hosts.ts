// One site, compiled: what its answers, routes, pages and policies mean to the handler of requests. Used by the snapshot.
import type { Answer, ErrorPageConfig, VhostConfig } from '../config/config.js'
import type { UpstreamConfig } from '../config/upstream-config.js'
import { headerPolicy } from '../http/header-policy.js'
import type { ErrorPage, SiteAction, VirtualHost } from '../http/routing.js'
import { type TrailerGuard, trailerGuard } from '../http/trailer-guard.js'
import { formatOrigin } from '../net/origin.js'
import { type AddressSets, siteAllow } from './addresses.js'
import type { ClientTrustShelf } from './client-trusts.js'
import type { UpstreamCompiler } from './upstreams.js'

/** What sites are compiled with. */
export interface SiteParts {
  readonly upstreams: UpstreamCompiler
  readonly clientTrusts: ClientTrustShelf
  readonly addressSets: AddressSets
}

/** Compiles a site; what it does not ask for is left out, so that requests do not ask for it either. */
export function virtualHostOf(vhost: VhostConfig, parts: SiteParts): VirtualHost {
  const { upstreams, clientTrusts, addressSets } = parts
  const { headers, routes, errorPages, limits, clientCertificate } = vhost
  const actionAt = (answer: Answer, path: ReplacedPath) => actionOf(answer, path, { vhost, upstreams })
  return {
    id: vhost.id,
    action: actionAt(vhost.answer, wholePath),
    access: vhost.log.access,
    routes: nonEmpty(
      routes.map(({ path, answer, stripPrefix }) => {
        return { path, action: actionAt(answer, { replacedBytes: path.length, isStripped: stripPrefix }) }
      }),
    ),
    upstreamHost: headers.request.host,
    requestHeaders: headerPolicy(headers.request),
    requestTrailers: requestTrailers(vhost),
    responseHeaders: headerPolicy(headers.response),
    errorPages: errorPages.length === 0 ? undefined : pagesOf(errorPages),
    allow: siteAllow(vhost, addressSets),
    clientCertificate: clientCertificate && {
      policy: clientTrusts.policyOf(clientCertificate),
      isRequired: clientCertificate.mode === 'require',
      forward: clientCertificate.forward,
    },
    needsTls13: vhost.minVersion === 'TLSv1.3',
    requestBodyBytesMax: Number.isFinite(limits.requestBodyBytes) ? limits.requestBodyBytes : undefined,
  }
}

function requestTrailers({ headers: { request }, clientCertificate }: VhostConfig): TrailerGuard | undefined {
  const { header, chainHeader } = clientCertificate?.forward ?? {}
  const told = [header, chainHeader].filter((name) => name !== undefined)
  return trailerGuard([...request.remove, ...request.set.map(({ name }) => name), ...told])
}

/** The part of a path that a route is for. */
interface ReplacedPath {
  readonly replacedBytes: number
  /** Whether the endpoint gets the path without it. */
  readonly isStripped: boolean
}

const wholePath: ReplacedPath = { replacedBytes: 0, isStripped: false }

interface ActionParts {
  readonly vhost: VhostConfig
  readonly upstreams: UpstreamCompiler
}

function actionOf(answer: Answer, path: ReplacedPath, { vhost, upstreams }: ActionParts): SiteAction {
  if (answer.kind === 'upstream') {
    return {
      kind: 'forward',
      ...upstreams.destinationOf(answer),
      tellsClient: answer.upstream.proxyProtocol !== undefined,
      via: vhost.via,
      http2Scheme: http2SchemeOf(answer.upstream),
      strippedBytes: path.isStripped ? path.replacedBytes : 0,
    }
  }
  if (answer.kind === 'redirect') {
    const origin = answer.origin === undefined ? '' : formatOrigin(answer.origin)
    const { replacedBytes } = path
    return { kind: 'redirect', to: `${origin}${answer.path}`, replacedBytes, status: answer.status }
  }
  return { ...answer, body: Buffer.from(answer.body) }
}

/** `auto` without TLS has nothing that could choose HTTP/2. */
function http2SchemeOf({ protocol, tls }: UpstreamConfig): 'http' | 'https' | undefined {
  if (protocol === 'http1' || (protocol === 'auto' && tls === undefined)) return undefined
  return tls === undefined ? 'http' : 'https'
}

function pagesOf(pages: readonly ErrorPageConfig[]): ReadonlyMap<number, ErrorPage> {
  return new Map(pages.map(({ status, contentType, page }) => [status, { contentType, body: Buffer.from(page.text) }]))
}

function nonEmpty<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length === 0 ? undefined : items
}
