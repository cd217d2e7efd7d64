// What a hash policy hashes of a request. Used by upstreams; asked once a request.
import { hashOfText } from './hash.js'

/** What a balancing policy may ask about a request; asked once, before anything is sent. */
export interface RequestFacts {
  /** The client's address without a port. */
  readonly clientAddress: string
  readonly host: string
  readonly path: string
  /** The value of a header, its name in lower case. */
  header(name: string): string | undefined
  cookie(name: string): string | undefined
}

/** Which part of a request decides; the names of headers are in lower case. */
export type HashKey =
  | { readonly kind: 'client' | 'host' | 'path' }
  | { readonly kind: 'header' | 'cookie'; readonly name: string }

/** The hash of what `key` names; undefined where the request has no such part. */
export function hashOfKey(key: HashKey, facts: RequestFacts): number | undefined {
  const text = textOf(key, facts)
  return text === undefined ? undefined : hashOfText(text)
}

function textOf(key: HashKey, facts: RequestFacts): string | undefined {
  if ('name' in key) return key.kind === 'header' ? facts.header(key.name) : facts.cookie(key.name)
  if (key.kind === 'client') return facts.clientAddress
  return key.kind === 'host' ? facts.host : facts.path
}
