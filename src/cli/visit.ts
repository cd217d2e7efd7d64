// A client before one listener: who it is measured, claimed and believed to be, and whether it is let in. Asks the rules that
// the server asks, about a connection and a request that nobody makes. Used by why.
import { isIPv6 } from 'node:net'
import type { Place } from '../config/config-error.js'
import { clientAddressOf, type HeaderClaim } from '../http/client-claims.js'
import { scanFieldLines } from '../http1/field-lines.js'
import { headerJudge } from '../listener/preamble.js'
import { formatAddress } from '../net/address.js'
import { encodeProxyV2 } from '../net/proxy-protocol-v2.js'
import type { ListenerPlan } from '../server/snapshot.js'
import type { Connection } from '../wire/connection.js'
import { HeaderBlock } from '../wire/header-block.js'

/** The addresses that are asked about, as `formatIp` spells them. */
export interface AskedAddresses {
  /** Who connects. */
  readonly peer: string
  /** Whom its PROXY header names; undefined where it sends none. */
  readonly claimed: string | undefined
  /** Whom the header of its request names; undefined where it is the same. */
  readonly client: string | undefined
}

/** Why a client is not let in, and what says so. */
export interface ClosedDoor {
  readonly reason: 'not_allowed' | 'proxy_missing' | 'proxy_untrusted'
  readonly rule: Place
}

/** A client at a listener, in the form that rules of addresses ask. */
export interface Visit {
  readonly asked: AskedAddresses
  readonly clientAddress: string
  readonly downstream: { readonly connection: Connection }
  readonly claim: HeaderClaim | undefined
  readonly scheme: 'http' | 'https'
  /** Undefined where it is let in. */
  readonly closed: ClosedDoor | undefined
}

/** What becomes of a client at the listener of `plan`. */
export function visit(asked: AskedAddresses, plan: ListenerPlan): Visit {
  const { view } = plan
  const connection = connectionOf(asked, plan)
  const headers = headersOf(asked, plan)
  const claim = view.claims?.judge({ connection, request: { headers } })
  return {
    asked,
    clientAddress: clientAddressOf(connection, claim),
    downstream: { connection },
    claim,
    scheme: view.isSecure ? 'https' : 'http',
    closed: closedAtHeader(asked, plan) ?? closedByAllow(connection, plan),
  }
}

/** A PROXY header counts where one is looked for. */
function connectionOf({ peer, claimed }: AskedAddresses, { config, proxyHeader }: ListenerPlan): Connection {
  const believed = (proxyHeader === undefined ? undefined : claimed) ?? null
  return {
    id: '',
    listener: config.name,
    peer: formatAddress(peer, 0),
    peerAddress: peer,
    local: '',
    claimed: believed && formatAddress(believed, 0),
    claimedAddress: believed,
    claimedBy: believed && 'proxy-v2',
    sni: null,
    tlsVersion: null,
    clientProof: undefined,
  }
}

// The version is no matter of addresses, so it is not asked for.
function closedAtHeader(
  { peer, claimed }: AskedAddresses,
  { config, proxyHeader }: ListenerPlan,
): ClosedDoor | undefined {
  if (proxyHeader === undefined || config.proxyProtocol === undefined) return undefined
  const judged = headerJudge({ ...proxyHeader, versions: [1, 2] }, peer)(firstBytes(claimed))
  if (judged.kind === 'incomplete' || judged.found.kind !== 'refused') return undefined
  const rule = config.proxyProtocol.place
  return { reason: claimed === undefined ? 'proxy_missing' : 'proxy_untrusted', rule }
}

function firstBytes(claimed: string | undefined): Buffer {
  if (claimed === undefined) return Buffer.from('GET ')
  const end = { address: claimed, port: 0 }
  return encodeProxyV2({ source: end, destination: end })
}

function closedByAllow(connection: Connection, { config, view }: ListenerPlan): ClosedDoor | undefined {
  if (config.allow === undefined || view.allow?.admitsConnection(connection) !== false) return undefined
  return { reason: 'not_allowed', rule: config.allow.place }
}

/** The client in every header that some source may name it in; which of them counts is judged. */
function headersOf({ client }: AskedAddresses, { config, limits }: ListenerPlan): HeaderBlock {
  const headers = new HeaderBlock()
  if (client === undefined) return headers
  const names = new Set(config.clientAddress.map(({ header }) => header.toLowerCase()))
  const lines = Array.from(names, (name) => `${name}: ${name === 'forwarded' ? nodeOf(client) : client}\r\n`)
  const bytes = Buffer.from(`${lines.join('')}\r\n`)
  headers.reset(bytes)
  scanFieldLines(bytes, 0, headers, limits)
  return headers
}

/** RFC 7239 §6. */
function nodeOf(address: string): string {
  return isIPv6(address) ? `for="[${address}]"` : `for=${address}`
}
