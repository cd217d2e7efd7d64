// What stands before the first request on a connection: a PROXY header, where one is looked for, which is taken off,
// then a ClientHello, which is looked at and given back. Pure judgements; the listener asks them in this order.

import type { AddressTest } from '../net/cidr.js'
import { type ClientHello, readClientHello } from '../net/client-hello.js'
import { type RecognizedHeader, readProxyHeader, recognizeProxyHeader } from '../net/proxy-protocol.js'
import type { ProxyHeader, ProxyMistake } from '../net/proxy-protocol-header.js'
import type { Judgement } from './first-bytes.js'

/** Whose PROXY headers are believed, and whether those must send one; nobody else may. */
export interface ProxyHeaderRules {
  /** Held against the measured peer. */
  readonly from: AddressTest
  readonly mode: 'require' | 'optional'
  readonly versions: readonly (1 | 2)[]
}

/** Why a connection never came as far as a handshake. */
export type PreambleRefusal = ProxyRefusal | 'plain_http' | 'not_tls' | 'malformed_hello' | 'hello_too_large'

/** Why a PROXY header, or the want of one, ended a connection. */
export type ProxyRefusal = ProxyMistake | 'proxy_untrusted' | 'proxy_missing' | 'proxy_version'

interface Refused<Reason> {
  readonly kind: 'refused'
  readonly reason: Reason
}

/** What stands where a PROXY header may; `absent` with whether its sender is one of those who may send one. */
export type FoundHeader =
  | { readonly kind: 'header'; readonly header: ProxyHeader }
  | { readonly kind: 'absent'; readonly isTrusted: boolean }
  | Refused<ProxyRefusal>

/** What stands where a ClientHello must. */
export type FoundHello =
  | { readonly kind: 'hello'; readonly hello: ClientHello }
  | Refused<Exclude<PreambleRefusal, ProxyRefusal>>

/** A judge of PROXY headers from one peer. */
export function headerJudge(rules: ProxyHeaderRules, peerAddress: string): (bytes: Buffer) => Judgement<FoundHeader> {
  const expectation = rules.from.has(peerAddress) ? rules.mode : 'forbidden'
  return (bytes) => judgeHeader(bytes, { expectation, versions: rules.versions })
}

/** Judges bytes that should be a ClientHello; it stays unread. */
export function judgeHello(bytes: Buffer): Judgement<FoundHello> {
  const verdict = readClientHello(bytes)
  switch (verdict.kind) {
    case 'hello':
      return found(verdict)
    case 'incomplete':
      return verdict
    case 'malformed':
      return refused('malformed_hello')
    case 'too_large':
      return refused('hello_too_large')
    case 'not_tls':
      return judgeForeign(bytes)
  }
}

/** The rules as they are for one peer. */
interface PeerRules {
  readonly expectation: 'require' | 'optional' | 'forbidden'
  readonly versions: readonly (1 | 2)[]
}

function judgeHeader(bytes: Buffer, rules: PeerRules): Judgement<FoundHeader> {
  const objection = objectionTo(recognizeProxyHeader(bytes), rules)
  if (objection !== undefined) return refused(objection)
  const verdict = readProxyHeader(bytes)
  switch (verdict.kind) {
    case 'header':
      return { kind: 'decided', found: verdict, bytesTaken: verdict.header.byteCount }
    case 'incomplete':
      return verdict
    case 'malformed':
      return refused(verdict.mistake)
    case 'absent':
      return found({ kind: 'absent', isTrusted: rules.expectation !== 'forbidden' })
  }
}

// Told before anything is parsed: what a stranger claims is nothing, and may be meant to be read wrongly.
function objectionTo(recognized: RecognizedHeader, { expectation, versions }: PeerRules): ProxyRefusal | undefined {
  if (recognized === 'incomplete') return undefined
  if (recognized === 'absent') return expectation === 'require' ? 'proxy_missing' : undefined
  if (expectation === 'forbidden') return 'proxy_untrusted'
  return versions.includes(recognized) ? undefined : 'proxy_version'
}

/** A method and a space: someone speaks HTTP to a TLS port, and can be told so. */
function judgeForeign(bytes: Buffer): Judgement<FoundHello> {
  const start = bytes.toString('latin1', 0, httpMethodBytesMax + 1)
  if (/^[A-Z]+ /.test(start)) return refused('plain_http')
  const mayBecomeHttp = bytes.length <= httpMethodBytesMax && /^[A-Z]+$/.test(start)
  return mayBecomeHttp ? { kind: 'incomplete', bytesNeeded: bytes.length + 1 } : refused('not_tls')
}

const httpMethodBytesMax = 16

function refused<Reason>(reason: Reason): Judgement<Refused<Reason>> {
  return found({ kind: 'refused', reason })
}

function found<Found>(what: Found): Judgement<Found> {
  return { kind: 'decided', found: what, bytesTaken: 0 }
}
