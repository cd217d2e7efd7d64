// What happens to header lines on their way through: connection-specific lines go, claims of the client go, ours come
// (RFC 9110 §7.6). Pure functions on header blocks, used by forwarding.
import type { ResponseHead } from '../wire/downstream.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'

const connectionSpecific = [
  Field.connection,
  Field.keepAlive,
  Field.proxyConnection,
  Field.te,
  Field.transferEncoding,
  Field.upgrade,
  Field.http2Settings,
]

/** Set by us and believed by upstreams, so nobody else's copy passes; `Proxy` and look-alikes fool CGI programs. */
const claims = [
  Field.xForwardedFor,
  Field.xForwardedProto,
  Field.xForwardedHost,
  Field.xForwardedPort,
  Field.forwarded,
  Field.claim,
  Field.xRequestId,
  Field.proxyAuthorization,
  Field.proxy,
  Field.clientCert,
  Field.clientCertChain,
  Field.lookAlike,
]

const requestDrops = tableOf([...connectionSpecific, ...claims])
const responseDrops = tableOf([...connectionSpecific, Field.proxyAuthenticate])

/** A client must not have these removed by naming them in Connection: who may see what depends on them. */
const neverNominated = tableOf([
  Field.host,
  Field.contentLength,
  Field.transferEncoding,
  Field.authorization,
  Field.cookie,
  Field.believed,
])

/** What the lines of our own say. */
export interface ForwardedFacts {
  /** The client's address without a port. */
  readonly clientAddress: string
  readonly scheme: 'http' | 'https'
  /** The host as the client wrote it. */
  readonly host: string
  readonly requestId: string
  readonly via: string | undefined
}

/** Drops what must not reach an endpoint and adds what Hostward says about the client. */
export function prepareRequest(headers: HeaderBlock, facts: ForwardedFacts): void {
  dropNominated(headers)
  dropListed(headers, requestDrops)
  headers.add('x-forwarded-for', facts.clientAddress)
  headers.add('x-forwarded-proto', facts.scheme)
  headers.add('x-forwarded-host', facts.host)
  headers.add('forwarded', forwardedValue(facts))
  headers.add('x-request-id', facts.requestId)
  if (facts.via !== undefined) headers.add('via', facts.via)
}

/** Drops what belongs to the connection to the endpoint, and a length where there may be none (RFC 9110 §8.6). */
export function prepareResponse({ status, headers }: ResponseHead): void {
  dropNominated(headers)
  dropListed(headers, responseDrops)
  if (status < 200 || status === 204) headers.dropAll(Field.contentLength)
}

// RFC 9110 §7.6.1: names listed in Connection are hop-by-hop. Removed before our own lines are added,
// or a client could delete what we say about it.
function dropNominated(headers: HeaderBlock): void {
  for (let index = headers.find(Field.connection); index !== -1; index = headers.find(Field.connection, index + 1)) {
    if (headers.hasValue(index, 'keep-alive') || headers.hasValue(index, 'close')) continue
    dropNamed(
      headers,
      new Set(
        headers
          .valueOf(index)
          .toLowerCase()
          .split(/[ \t]*,[ \t]*/),
      ),
    )
  }
}

// A set, because thousands of names against hundreds of lines would be a cheap way to keep us busy.
function dropNamed(headers: HeaderBlock, names: ReadonlySet<string>): void {
  for (let index = 0; index < headers.count; index++) {
    const id = headers.ids[index] as number
    if (id !== Field.connection && neverNominated[id] === 0 && names.has(headers.nameOf(index))) headers.drop(index)
  }
}

function dropListed(headers: HeaderBlock, listed: Uint8Array): void {
  const { ids, count } = headers
  for (let index = 0; index < count; index++) if (listed[ids[index] as number] === 1) headers.drop(index)
}

/** RFC 7239 §4: an IPv6 address is quoted in brackets, and so is a host with a port. */
function forwardedValue(facts: ForwardedFacts): string {
  const client = facts.clientAddress.includes(':') ? `"[${facts.clientAddress}]"` : facts.clientAddress
  const host = facts.host.includes(':') ? `"${facts.host}"` : facts.host
  return `for=${client};host=${host};proto=${facts.scheme}`
}

function tableOf(ids: readonly number[]): Uint8Array {
  const table = new Uint8Array(256)
  for (const id of ids) table[id] = 1
  return table
}
