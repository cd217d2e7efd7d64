// Sense across the keys of one site. Works on values that nobody has validated, as check.ts does. Used by site.ts.

import { normalizeSitePattern } from '../net/hostname.js'
import { type ListenerSketch, servingListeners } from './check.js'
import { checkSiteAllow } from './check-addresses.js'
import { checkAnswer } from './check-answer.js'
import { checkHeaders } from './check-headers.js'
import { checkRoutes } from './check-routes.js'
import { checkClientCertificate } from './client-certificate.js'
import { didYouMean } from './did-you-mean.js'
import { contentTypeOf, pageExtensions } from './error-pages.js'
import type { Mistake } from './mistake.js'
import { shown } from './printable.js'
import { type Surrounding, unreadableFiles } from './taken-in.js'
import { isMap, listAt, type ValueMap } from './value.js'

/** What a site may refer to. */
export interface SiteSurrounding extends Surrounding {
  readonly listeners: readonly ListenerSketch[]
  /** The names of the upstreams that it may use. */
  readonly upstreams: ReadonlySet<string>
  /** The names of the address sets. */
  readonly addressSets: ReadonlySet<string>
}

/** Mistakes within one site. */
export function checkSite(site: unknown, surrounding: SiteSurrounding): readonly Mistake[] {
  if (!isMap(site)) return []
  const { listeners, upstreams } = surrounding
  const names = servingListeners(site, listeners)
  const serving = listeners.filter(({ name }) => names.includes(name))
  return [
    ...checkAnswer(site, { kind: 'site', upstreams }),
    ...checkHosts(site),
    ...checkServedBy(site, listeners),
    ...checkCertificate(site, listeners),
    ...checkClientCertificate(site, surrounding),
    ...checkRoutes(site, { serving, upstreams }),
    ...checkHeaders(site['headers']),
    ...checkSiteAllow(site, { serving, sets: surrounding.addressSets }),
    ...checkErrorPages(site['errors'], surrounding),
  ]
}

function checkHosts(site: ValueMap): readonly Mistake[] {
  const seen = new Set<string>()
  return listAt(site, 'hosts').flatMap((raw, index): readonly Mistake[] => {
    const parsed = typeof raw === 'string' ? normalizeSitePattern(raw) : undefined
    if (parsed === undefined || 'mistake' in parsed) return []
    if (seen.has(parsed.value))
      return [{ path: ['hosts', index], aim: 'value', message: `host "${parsed.value}" is listed twice` }]
    seen.add(parsed.value)
    return []
  })
}

function checkServedBy(site: ValueMap, listeners: readonly ListenerSketch[]): readonly Mistake[] {
  const names = listeners.map(({ name }) => name)
  // Without any listener the mistake is elsewhere, and told there.
  if (names.length === 0) return []
  if (site['listeners'] === undefined && servingListeners(site, listeners).length === 0) {
    const hint = `name the plain ones that shall: listeners: [${names.join(', ')}]`
    return [{ path: [], aim: 'value', message: 'no listener serves the site', hint }]
  }
  return listAt(site, 'listeners').flatMap((name, index): readonly Mistake[] => {
    if (typeof name !== 'string' || names.includes(name)) return []
    const hint = didYouMean(name, names) ?? `there are ${names.join(', ')}`
    return [{ path: ['listeners', index], aim: 'value', message: `listener ${shown(name)} is not defined`, hint }]
  })
}

function checkCertificate(site: ValueMap, listeners: readonly ListenerSketch[]): readonly Mistake[] {
  if ('certificate' in site) return []
  const serving = servingListeners(site, listeners)
  const needy = listeners.find(({ name, isTls }) => isTls && serving.includes(name))
  if (needy === undefined) return []
  const hint = 'add certificate: { cert: …, key: … }, or name plain listeners alone under listeners'
  return [{ path: [], aim: 'value', message: `"certificate" is missing: listener ${shown(needy.name)} is TLS`, hint }]
}

function checkErrorPages(pages: unknown, surrounding: Surrounding): readonly Mistake[] {
  if (!isMap(pages)) return []
  const untyped = Object.entries(pages).flatMap(([status, file]): readonly Mistake[] => {
    if (typeof file !== 'string' || contentTypeOf(file) !== undefined) return []
    const message = `the file ${shown(file)} has no type that is known`
    return [{ path: ['errors', status], aim: 'value', message, hint: `it must end in ${pageExtensions.join(', ')}` }]
  })
  const paths = Object.keys(pages).map((status) => ['errors', status])
  const isUntyped = ({ path }: Mistake) => untyped.some((mistake) => mistake.path[1] === path[1])
  return [...untyped, ...unreadableFiles({ errors: pages }, paths, surrounding).filter((each) => !isUntyped(each))]
}
