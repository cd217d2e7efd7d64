// Sense across the keys of the main file, which no schema can tell. Works on values that nobody has validated, so that
// one run tells every mistake; what has the wrong shape is the schema's to report and is passed over here.

import { type BindAddress, parseBind } from '../net/address.js'
import { tls13Suites } from '../net/cipher-suites.js'
import { checkListenerAddresses, readsProxyProtocol } from './check-addresses.js'
import type { Mistake } from './mistake.js'
import { shown } from './printable.js'
import { isMap, listAt, type ValueMap } from './value.js'

/** What can be told of a listener, whether or not it is right in all. */
export interface ListenerSketch {
  readonly name: string
  readonly isTls: boolean
  readonly redirectsToHttps: boolean
  /** Whether it knows an address other than the measured one. */
  readonly hasProxyProtocol: boolean
  readonly hasClientAddress: boolean
  /** Undefined where the address cannot be read. */
  readonly port: number | undefined
}

/** Every listener of the main file that has a name. */
export function sketchListeners(main: unknown): readonly ListenerSketch[] {
  return listAt(main, 'listeners').flatMap((listener) => {
    if (!isMap(listener) || typeof listener['name'] !== 'string') return []
    const isTls = listener['tls'] !== false
    const redirectsToHttps = !isTls && listener['redirectToHttps'] === true
    const hasProxyProtocol = readsProxyProtocol(listener)
    const hasClientAddress = 'clientAddress' in listener
    const port = bindOf(listener)?.port
    return [{ name: listener['name'], isTls, redirectsToHttps, hasProxyProtocol, hasClientAddress, port }]
  })
}

/** The names of the listeners that serve a site: those it names, or every TLS listener and the plain ones that redirect. */
export function servingListeners(site: unknown, listeners: readonly ListenerSketch[]): readonly string[] {
  if (isMap(site) && Array.isArray(site['listeners']))
    return site['listeners'].filter((each) => typeof each === 'string')
  return listeners.filter((each) => each.isTls || each.redirectsToHttps).map((each) => each.name)
}

/** Mistakes between the listeners of the main file; `sets` are the names of address sets. */
export function checkListeners(main: unknown, sets: ReadonlySet<string>): readonly Mistake[] {
  const seen = { names: new Set<unknown>(), binds: new Map<string, unknown>() }
  return listAt(main, 'listeners').flatMap((listener, index) => {
    if (!isMap(listener)) return []
    const mistakes = [
      ...checkName(listener, seen.names),
      ...checkBind(listener, seen.binds),
      ...checkWire(listener),
      ...checkListenerAddresses(listener, sets),
    ]
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
  const bind = bindOf(listener)
  if (bind === undefined || bind.port === 0) return []
  const address = `${bind.host ?? ''} ${bind.port}`
  if (!seen.has(address)) {
    seen.set(address, listener['name'])
    return []
  }
  const message = `bind ${shown(listener['bind'])} is taken by listener ${shown(seen.get(address))}`
  return [{ path: ['bind'], aim: 'value', message, hint: 'give each listener an address and port of its own' }]
}

function bindOf(listener: ValueMap): BindAddress | undefined {
  const parsed = typeof listener['bind'] === 'string' ? parseBind(listener['bind']) : undefined
  return parsed === undefined || 'mistake' in parsed ? undefined : parsed.value
}

function checkWire(listener: ValueMap): readonly Mistake[] {
  const { tls } = listener
  const isTls = tls !== false
  if (isMap(tls) && tls['minVersion'] === 'TLSv1.3' && listAt(tls, 'ciphers').length > 0) {
    if (!listAt(tls, 'ciphers').some(isTls13Suite)) return [noSuite]
  }
  if (isTls && listener['redirectToHttps'] === true) {
    const hint = 'set tls: false, or remove redirectToHttps'
    return [{ path: ['redirectToHttps'], aim: 'key', message: 'redirectToHttps is for plain listeners', hint }]
  }
  if (listener['announceOrigins'] === true && (!isTls || listener['http2'] === false)) {
    const hint = 'remove announceOrigins, or offer HTTP/2'
    return [{ path: ['announceOrigins'], aim: 'key', message: 'announceOrigins is for listeners with HTTP/2', hint }]
  }
  if (isTls || listener['http2'] !== true) return []
  const hint = 'remove http2, or tls: false'
  return [{ path: ['http2'], aim: 'key', message: 'http2 is for TLS listeners', hint }]
}

function isTls13Suite(name: unknown): boolean {
  return tls13Suites.some((suite) => suite === name)
}

const noSuite: Mistake = {
  path: ['tls', 'ciphers'],
  aim: 'value',
  message: 'none of the ciphers is one of TLS 1.3',
  hint: `add ${tls13Suites[0]}, or set minVersion: TLSv1.2`,
}
