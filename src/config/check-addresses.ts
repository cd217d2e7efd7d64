// Sense of what is said about addresses: whose word is taken, who may come in. Works on values that nobody has validated,
// as check.ts does.

import { undefinedSets } from './address-sets.js'
import type { Mistake } from './mistake.js'
import { shown } from './printable.js'
import { isMap, type Path, type ValueMap, valueAt } from './value.js'

/** Whether a listener looks for PROXY headers. */
export function readsProxyProtocol(listener: ValueMap): boolean {
  return isMap(listener['proxyProtocol']) && listener['proxyProtocol']['mode'] !== 'off'
}

/** Mistakes of one listener; `sets` are the names of address sets. */
export function checkListenerAddresses(listener: ValueMap, sets: ReadonlySet<string>): readonly Mistake[] {
  const sources = claimSourcePaths(listener)
  const lists: readonly Path[] = [['proxyProtocol'], ...sources, ['allow']]
  return [
    ...lists.flatMap((path) => undefinedSets(listener, [...path, 'from'], sets)),
    ...sources.flatMap((path) => checkClaimHeader(listener, [...path, 'header'])),
    ...checkTrustProto(listener),
    ...checkListenerAllow(listener),
  ]
}

function claimSourcePaths({ clientAddress }: ValueMap): readonly Path[] {
  if (Array.isArray(clientAddress)) return clientAddress.map((_, index) => ['clientAddress', index])
  return clientAddress === undefined ? [] : [['clientAddress']]
}

/** What cannot be a claim, and what would take a request apart where it is removed from one that is not believed. */
const otherHeaders = [
  ...['authorization', 'connection', 'content-length', 'content-type', 'cookie', 'expect', 'host', 'http2-settings'],
  ...['keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'via'],
  ...['x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto', 'x-request-id'],
]

function checkClaimHeader(listener: ValueMap, path: Path): readonly Mistake[] {
  const header = valueAt(listener, path)
  if (typeof header !== 'string' || !otherHeaders.includes(header.toLowerCase())) return []
  const hint = 'name the header that the network in front documents, such as CF-Connecting-IP or X-Forwarded-For'
  return [{ path, aim: 'value', message: `header ${shown(header)} names no client`, hint }]
}

function checkTrustProto(listener: ValueMap): readonly Mistake[] {
  if (listener['trustProto'] !== true || 'clientAddress' in listener) return []
  const hint = 'add clientAddress, which says whose word is taken'
  return [{ path: ['trustProto'], aim: 'key', message: 'trustProto trusts nobody without clientAddress', hint }]
}

function checkListenerAllow(listener: ValueMap): readonly Mistake[] {
  if (valueAt(listener, ['allow', 'of']) !== 'claimed' || readsProxyProtocol(listener)) return []
  return [{ path: ['allow', 'of'], aim: 'value', message: 'nothing is claimed without proxyProtocol', hint: peerHint }]
}

const peerHint = 'write of: peer, or say which PROXY headers are believed'

/** The listeners that serve a site, and the names of address sets. */
export interface AllowSurrounding {
  readonly serving: readonly { readonly hasProxyProtocol: boolean; readonly hasClientAddress: boolean }[]
  readonly sets: ReadonlySet<string>
}

/** Mistakes of the `allow` of one site. */
export function checkSiteAllow(site: ValueMap, { serving, sets }: AllowSurrounding): readonly Mistake[] {
  const undefinedOnes = undefinedSets(site, ['allow', 'from'], sets)
  const path: Path = ['allow', 'of']
  const of = valueAt(site, path)
  if (of === 'claimed' && !serving.some(({ hasProxyProtocol }) => hasProxyProtocol)) {
    const message = 'nothing is claimed: no listener of the site has proxyProtocol'
    return [...undefinedOnes, { path, aim: 'value', message, hint: peerHint }]
  }
  if (of === 'client' && !serving.some(({ hasClientAddress }) => hasClientAddress)) {
    const message = 'no client is named: no listener of the site has clientAddress'
    const hint = 'write of: peer, or say which request header is believed'
    return [...undefinedOnes, { path, aim: 'value', message, hint }]
  }
  return undefinedOnes
}
