// Who the client is, and how it asked, in the words of a proxy in front: believed from listed addresses alone, and only what
// can be read without doubt. Used by the handler before it looks at a request; what is not believed is never passed on.
import type { AddressTest } from '../net/cidr.js'
import {
  type ClaimMistake,
  type ClaimReader,
  readForwarded,
  readForwardedFor,
  readSingleAddress,
  type TrustedHops,
} from '../net/claimed-client.js'
import type { Connection } from '../wire/connection.js'
import { Field, isAlike } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { AddressRule } from './address-rule.js'
import { type TrailerGuard, trailerGuard } from './trailer-guard.js'

/** What the headers of a request claim; null and undefined where nothing is believed. */
export interface HeaderClaim {
  /** The client's address without a port. */
  readonly address: string | null
  /** `header:` and the name of the header. */
  readonly by: string
  /** Why a source that should have named the client has not. */
  readonly mistake: ClaimMistake | undefined
  readonly scheme: 'http' | 'https' | undefined
}

/** A request whose headers may claim something. */
interface ClaimingRequest {
  readonly connection: Connection
  readonly request: { readonly headers: HeaderBlock }
}

/** The client as far as anybody believed knows it, without a port: what endpoints are told and what balancing asks. */
export function clientAddressOf({ claimedAddress, peerAddress }: Connection, claim: HeaderClaim | undefined): string {
  return claim?.address ?? claimedAddress ?? peerAddress
}

/** Whose word is taken, and in which header. */
export interface ClaimSource {
  readonly from: AddressTest
  /** The header's name. */
  readonly header: string
  /** Trusted addresses that are passed over in a list, at most. */
  readonly hopsMax: number
}

interface CompiledSource {
  readonly rule: AddressRule
  readonly header: string
  readonly headerBytes: Uint8Array
  readonly by: string
  readonly read: ClaimReader
  readonly hops: TrustedHops
}

/** The claims that one listener believes. */
export class ClientClaims {
  readonly #sources: readonly CompiledSource[]
  readonly #trustProto: boolean
  /** No claim is believed that stands behind a body. */
  readonly trailers: TrailerGuard | undefined

  /** The first source whose addresses a connection is from counts. */
  constructor({ sources, trustProto }: { sources: readonly ClaimSource[]; trustProto: boolean }) {
    this.#sources = sources.map(compileSource)
    this.#trustProto = trustProto
    this.trailers = trailerGuard(sources.map(({ header }) => header))
  }

  /** What is believed of a request; drops or marks the lines that claims stand in. */
  judge({ connection, request }: ClaimingRequest): HeaderClaim | undefined {
    const { headers } = request
    const source = this.#sources.find(({ rule }) => rule.admitsConnection(connection))
    for (const each of this.#sources) if (each.header !== source?.header) dropAlike(headers, each)
    if (source === undefined) return undefined
    const { by, header, read, hops } = source
    const lines = linesOf(headers, source)
    const client = read(
      lines.map((index) => headers.valueOf(index)),
      hops,
    )
    const scheme = this.#trustProto ? schemeOf(headers) : undefined
    if ('mistake' in client) {
      for (const index of lines) headers.drop(index)
      return { address: null, by, mistake: client.mistake, scheme }
    }
    if (!ownHeaders.has(header)) for (const index of lines) headers.ids[index] = Field.believed
    return { address: client.address, by, mistake: undefined, scheme }
  }
}

/** Written anew for every request, whoever wrote them before. */
const ownHeaders = new Set(['x-forwarded-for', 'forwarded'])

function compileSource({ from, header, hopsMax }: ClaimSource): CompiledSource {
  const name = header.toLowerCase()
  return {
    // A PROXY header that is trusted names the proxy that these headers come from.
    rule: new AddressRule({ from, of: 'claimed' }),
    header: name,
    headerBytes: Buffer.from(name),
    by: `header:${name}`,
    read: readerOf(name),
    hops: { from, hopsMax },
  }
}

function readerOf(name: string): ClaimReader {
  if (name === 'forwarded') return readForwarded
  return name === 'x-forwarded-for' || name === 'x-original-forwarded-for' ? readForwardedFor : readSingleAddress
}

/** The lines of the header; those of look-alikes are dropped, or somebody would take them for it. */
function linesOf(headers: HeaderBlock, source: CompiledSource): readonly number[] {
  const lines: number[] = []
  for (let index = 0; index < headers.count; index++) {
    if (!isLineAlike(headers, index, source)) continue
    if (headers.isNamed(index, source.header)) lines.push(index)
    else headers.drop(index)
  }
  return lines
}

// Known names of claims go anyway; one that only this configuration knows would pass.
function dropAlike(headers: HeaderBlock, source: CompiledSource): void {
  for (let index = 0; index < headers.count; index++) if (isLineAlike(headers, index, source)) headers.drop(index)
}

function isLineAlike(headers: HeaderBlock, index: number, { headerBytes }: CompiledSource): boolean {
  return (
    headers.ids[index] !== Field.dropped &&
    isAlike(headers.bytes, headers.startOf(index), headers.nameEndOf(index), headerBytes)
  )
}

/** Of exactly one line that says exactly one of the two. */
function schemeOf(headers: HeaderBlock): 'http' | 'https' | undefined {
  const index = headers.find(Field.xForwardedProto)
  if (index === -1 || headers.find(Field.xForwardedProto, index + 1) !== -1) return undefined
  if (headers.hasValue(index, 'https')) return 'https'
  return headers.hasValue(index, 'http') ? 'http' : undefined
}
