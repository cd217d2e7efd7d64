// Sense of a site's routes and redirects. Works on values that nobody has validated, as check.ts does.

import { normalizeSitePattern } from '../net/hostname.js'
import { parsePathPrefix, parseRedirectTarget, type RedirectTarget } from '../net/path-prefix.js'
import type { ListenerSketch } from './check.js'
import { checkAnswer } from './check-answer.js'
import { type Mistake, rebase } from './mistake.js'
import { shown } from './printable.js'
import { isMap, listAt, type ValueMap } from './value.js'

/** What routes are judged by. */
export interface RouteSurroundings {
  /** The listeners that serve the site. */
  readonly serving: readonly ListenerSketch[]
  readonly upstreams: ReadonlySet<string>
}

/** Mistakes of the routes of a site, and of its own redirect. */
export function checkRoutes(site: ValueMap, { serving, upstreams }: RouteSurroundings): readonly Mistake[] {
  const paths = listAt(site, 'routes').flatMap((route) => (isMap(route) ? (pathOf(route['path']) ?? []) : []))
  const own = { hosts: hostsOf(site), serving, paths }
  const seen = new Set<string>()
  const routes = listAt(site, 'routes').flatMap((route, index) => {
    if (!isMap(route)) return []
    const mistakes = [
      ...checkPath(route['path'], seen),
      ...checkAnswer(route, { kind: 'route', upstreams }),
      ...checkStrip(route),
      ...checkRedirect(route, { ...own, path: pathOf(route['path']) }),
    ]
    return rebase(['routes', index], mistakes)
  })
  return [...checkRedirect(site, { ...own, path: '/' }), ...routes]
}

function pathOf(raw: unknown): string | undefined {
  const parsed = typeof raw === 'string' ? parsePathPrefix(raw) : undefined
  return parsed === undefined || 'mistake' in parsed ? undefined : parsed.value
}

function checkPath(raw: unknown, seen: Set<string>): readonly Mistake[] {
  const path = pathOf(raw)
  if (path === undefined) return []
  if (path === '/') {
    const hint = "make its answer the site's own"
    return [{ path: ['path'], aim: 'value', message: 'a route for "/" leaves nothing to the site', hint }]
  }
  if (seen.has(path)) return [{ path: ['path'], aim: 'value', message: `route ${shown(path)} is there twice` }]
  seen.add(path)
  return []
}

function checkStrip(route: ValueMap): readonly Mistake[] {
  if (route['stripPrefix'] !== true || 'upstream' in route) return []
  const hint = 'remove stripPrefix: a redirect replaces the prefix anyway'
  return [{ path: ['stripPrefix'], aim: 'key', message: 'stripPrefix is for upstreams', hint }]
}

interface Redirecting {
  readonly path: string | undefined
  /** Those of all routes of the site. */
  readonly paths: readonly string[]
  readonly hosts: readonly string[]
  readonly serving: readonly ListenerSketch[]
}

function checkRedirect(value: ValueMap, { path, paths, hosts, serving }: Redirecting): readonly Mistake[] {
  const redirect = value['redirect']
  const to = isMap(redirect) && typeof redirect['to'] === 'string' ? redirect['to'] : undefined
  const target = to === undefined ? undefined : parseRedirectTarget(to)
  if (target === undefined || 'mistake' in target || path === undefined) return []
  if (!isOwn(target.value, hosts, serving) || winner(target.value.path, paths) !== path) return []
  const hint = path === '/' ? 'name another host' : 'choose a path that the route is not for'
  return [{ path: ['redirect', 'to'], aim: 'value', message: `redirect to ${shown(to)} leads to itself`, hint }]
}

/** Whether a request that follows the redirect comes back to the same site. */
function isOwn({ origin }: RedirectTarget, hosts: readonly string[], serving: readonly ListenerSketch[]): boolean {
  if (origin === undefined) return true
  if (!hosts.includes(origin.host)) return false
  // Another port may be mapped to ours in front of us, or not: only what is certain is told.
  return serving.some(({ isTls, port }) => isTls === (origin.scheme === 'https') && port === origin.port)
}

/** The route that a path takes; `/` is the site itself. */
function winner(path: string, routes: readonly string[]): string {
  const fitting = routes.filter((prefix) => path === prefix || path.startsWith(`${prefix}/`))
  return fitting.reduce((longest, prefix) => (prefix.length > longest.length ? prefix : longest), '/')
}

function hostsOf(site: ValueMap): readonly string[] {
  return listAt(site, 'hosts').flatMap((raw) => {
    const parsed = typeof raw === 'string' ? normalizeSitePattern(raw) : undefined
    return parsed === undefined || 'mistake' in parsed ? [] : [parsed.value]
  })
}
