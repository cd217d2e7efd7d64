// Sense across keys and across sites, which no schema can tell. Works on values that nobody has validated, so that one
// run tells every mistake; what has the wrong shape is the schema's to report and is passed over here.

import { parseBind } from '../net/address.js'
import { normalizeSitePattern } from '../net/hostname.js'
import { didYouMean } from './did-you-mean.js'
import type { Mistake } from './mistake.js'
import { shown } from './printable.js'
import { isMap, listAt, type ValueMap } from './value.js'

/** What can be told of a listener, whether or not it is right in all. */
export interface ListenerSketch {
  readonly name: string
  readonly isTls: boolean
  readonly redirectsToHttps: boolean
}

/** Every listener of the main file that has a name. */
export function sketchListeners(main: unknown): readonly ListenerSketch[] {
  return listAt(main, 'listeners').flatMap((listener) => {
    if (!isMap(listener) || typeof listener['name'] !== 'string') return []
    const isTls = listener['tls'] !== false
    return [{ name: listener['name'], isTls, redirectsToHttps: !isTls && listener['redirectToHttps'] === true }]
  })
}

/** The names of the listeners that serve a site: those it names, or every TLS listener and the plain ones that redirect. */
export function servingListeners(site: unknown, listeners: readonly ListenerSketch[]): readonly string[] {
  if (isMap(site) && Array.isArray(site['listeners']))
    return site['listeners'].filter((each) => typeof each === 'string')
  return listeners.filter((each) => each.isTls || each.redirectsToHttps).map((each) => each.name)
}

/** Mistakes between the listeners of the main file. */
export function checkListeners(main: unknown): readonly Mistake[] {
  const seen = { names: new Set<unknown>(), binds: new Map<string, unknown>() }
  return listAt(main, 'listeners').flatMap((listener, index) => {
    if (!isMap(listener)) return []
    const mistakes = [...checkName(listener, seen.names), ...checkBind(listener, seen.binds), ...checkWire(listener)]
    return mistakes.map((mistake) => ({ ...mistake, path: ['listeners', index, ...mistake.path] }))
  })
}

/** Mistakes of the `include` list. */
export function checkIncludes(main: unknown): readonly Mistake[] {
  return listAt(main, 'include').flatMap((pattern, index): readonly Mistake[] => {
    if (typeof pattern !== 'string' || !pattern.slice(0, pattern.lastIndexOf('/') + 1).includes('*')) return []
    const message = `include ${shown(pattern)} has a star before its last segment`
    return [{ path: ['include', index], aim: 'value', message, hint: 'give every directory an entry of its own' }]
  })
}

/** Mistakes within one site, given the listeners that there are. */
export function checkSite(site: unknown, listeners: readonly ListenerSketch[]): readonly Mistake[] {
  if (!isMap(site)) return []
  return [
    ...checkAnswer(site),
    ...checkHosts(site),
    ...checkServedBy(site, listeners),
    ...checkCertificate(site, listeners),
    ...checkBody(site['respond']),
  ]
}

function checkName(listener: ValueMap, seen: Set<unknown>): readonly Mistake[] {
  const name = listener['name']
  if (typeof name !== 'string') return []
  if (!seen.has(name)) {
    seen.add(name)
    return []
  }
  return [
    { path: ['name'], aim: 'value', message: `listener ${shown(name)} is there twice`, hint: 'rename one of the two' },
  ]
}

function checkBind(listener: ValueMap, seen: Map<string, unknown>): readonly Mistake[] {
  const parsed = typeof listener['bind'] === 'string' ? parseBind(listener['bind']) : undefined
  if (parsed === undefined || 'mistake' in parsed || parsed.value.port === 0) return []
  const address = `${parsed.value.host ?? ''} ${parsed.value.port}`
  if (!seen.has(address)) {
    seen.set(address, listener['name'])
    return []
  }
  const message = `bind ${shown(listener['bind'])} is taken by listener ${shown(seen.get(address))}`
  return [{ path: ['bind'], aim: 'value', message, hint: 'give each listener an address and port of its own' }]
}

function checkWire(listener: ValueMap): readonly Mistake[] {
  const isTls = listener['tls'] !== false
  if (isTls && listener['redirectToHttps'] === true) {
    const hint = 'set tls: false, or remove redirectToHttps'
    return [{ path: ['redirectToHttps'], aim: 'key', message: 'redirectToHttps is for plain listeners', hint }]
  }
  if (isTls || listener['http2'] !== true) return []
  const hint = 'remove http2, or tls: false'
  return [{ path: ['http2'], aim: 'key', message: 'http2 is for TLS listeners', hint }]
}

function checkAnswer(site: ValueMap): readonly Mistake[] {
  const [first, ...others] = Object.keys(site).filter((key) => ['upstream', 'respond', 'redirect'].includes(key))
  if (first === undefined) {
    return [
      { path: [], aim: 'value', message: 'the site has no answer', hint: 'add one of upstream, respond and redirect' },
    ]
  }
  return others.map((key) => {
    const hint = 'a site answers in one way: keep one of them'
    return { path: [key], aim: 'key', message: `${key} stands beside ${first}`, hint }
  })
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

// RFC 9110 §6.4.1: these have no body.
function checkBody(respond: unknown): readonly Mistake[] {
  if (!isMap(respond) || (respond['status'] !== 204 && respond['status'] !== 304)) return []
  if (respond['body'] === undefined || respond['body'] === '') return []
  const message = `an answer with status ${respond['status']} has no body`
  return [{ path: ['respond', 'body'], aim: 'key', message, hint: 'remove the body' }]
}
