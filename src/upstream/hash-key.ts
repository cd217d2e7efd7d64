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

/** Which part of a request decides. */
export type HashKey = 'client' | 'host' | 'path' | { readonly header: string } | { readonly cookie: string }

/** The hash of what `key` names; undefined where the request has no such part. */
export function hashOfKey(key: HashKey, facts: RequestFacts): number | undefined {
  const text = textOf(key, facts)
  return text === undefined ? undefined : hashOfText(text)
}

function textOf(key: HashKey, facts: RequestFacts): string | undefined {
  if (key === 'client') return facts.clientAddress
  if (key === 'host') return facts.host
  if (key === 'path') return facts.path
  return 'header' in key ? facts.header(key.header) : facts.cookie(key.cookie)
}
