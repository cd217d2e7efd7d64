// Which action of a site a path leads to. Used by the handler. Paths are matched and forwarded byte for byte; one that another
// reader could take for a path of another route is refused, never repaired.
import type { RedirectAction, Route, SiteAction, VirtualHost } from './routing.js'

/** The action for a target: of the longest route that fits, else the site's own. Undefined where readers may disagree. */
export function actionFor(site: VirtualHost, target: string): SiteAction | undefined {
  const { routes } = site
  if (routes === undefined) return site.action
  const route = routeOf(routes, target)
  if (!isPlain(target) && !isUnambiguous(routes, { target, route })) return undefined
  return route === undefined ? site.action : route.action
}

/** The path and query behind a prefix of so many bytes, as the target of a request of its own. */
export function targetBehind(target: string, prefixBytes: number): string {
  if (prefixBytes === 0) return target
  const rest = target.slice(prefixBytes)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Where a redirect sends a request with this path and query. */
export function locationOf(path: string, { to, replacedBytes }: RedirectAction): string {
  const rest = path.slice(replacedBytes)
  // What is behind a route may begin with slashes: on a path of our own that would name another host to a browser.
  return to === '' ? `/${rest.replace(/^[/\\]+/, '')}` : `${to}${rest}`
}

function routeOf(routes: readonly Route[], path: string): Route | undefined {
  for (const route of routes) if (isWithin(path, route.path)) return route
  return undefined
}

function isWithin(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false
  if (path.length === prefix.length || prefix === '/') return true
  const next = path.charCodeAt(prefix.length)
  return next === slash || next === question
}

const percent = 0x25
const dot = 0x2e
const slash = 0x2f
const semicolon = 0x3b
const question = 0x3f
const backslash = 0x5c

/** Whether every reader takes the path for what it is; most do, at the price of one look at each byte. */
function isPlain(target: string): boolean {
  let isSegmentStart = false
  for (let at = 0; at < target.length; at++) {
    const byte = target.charCodeAt(at)
    if (byte === question) return true
    if (byte === percent || byte === semicolon || byte === backslash) return false
    if (isSegmentStart && (byte === slash || byte === dot)) return false
    isSegmentStart = byte === slash
  }
  return true
}

// nginx, Apache and most frameworks decode a path, merge its slashes and resolve its dots before they look at it; Tomcat cuts
// parameters (`/api/..;/admin`), IIS takes a backslash for a slash. The forwarded bytes are the client's, so a path may only
// pass where it leads to the same route read either way. Whoever decodes less reads something in between: where the plain
// reading and the fullest agree, so do those. Dot segments are refused altogether: clients resolve them before they ask.
function isUnambiguous(
  routes: readonly Route[],
  { target, route }: { target: string; route: Route | undefined },
): boolean {
  const path = fullestReading(target.split('?', 1)[0] ?? '')
  return path !== undefined && routeOf(routes, path) === route
}

/** Decoded, without parameters and empty segments; undefined with a dot segment. */
function fullestReading(path: string): string | undefined {
  const decoded = path.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  let reading = ''
  for (const segment of decoded.split(/[/\\]/)) {
    const name = segment.split(';', 1)[0] ?? ''
    if (name === '.' || name === '..') return undefined
    if (name !== '') reading += `/${name}`
  }
  return reading === '' ? '/' : reading
}
