// The one name that a request is for, or none (RFC 9110 §7.2, RFC 9112 §3.2, RFC 9113 §8.3.1). Used by the handler;
// two names in one request are how it reaches the wrong site, so they are refused, equal or not.
import { normalizeHostname } from '../net/hostname.js'
import type { Request } from '../wire/downstream.js'
import { Field } from '../wire/field-names.js'

/** The host of a request: as maps know it, and as the client wrote it. */
export interface RequestedHost {
  readonly name: string
  readonly written: string
}

/** The one host of a request, undefined where there is none, more than one, or something that is no host. */
export function requestedHost(request: Request): RequestedHost | undefined {
  const { headers, authority } = request
  const line = headers.find(Field.host)
  if (line !== -1 && headers.find(Field.host, line + 1) !== -1) return undefined
  const host = line === -1 ? undefined : headers.valueOf(line)
  const written = authority ?? host
  const name = written === undefined ? undefined : normalizeHostname(written)
  if (written === undefined || name === undefined) return undefined
  // HTTP/1.1 demands a Host line beside an absolute-form too; HTTP/2 may leave it out.
  if (host === undefined && request.protocol !== 'h2') return undefined
  if (authority !== undefined && host !== undefined && normalizeHostname(host) !== name) return undefined
  return { name, written }
}
