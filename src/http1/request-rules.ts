// What a parsed request head may not say, and what it says about its connection. Used by the server connection.
import { Failure } from '../wire/failure.js'
import { Field } from '../wire/field-names.js'
import { hasConnectionOption } from './connection-options.js'
import { badFraming, chunked, unknownCoding } from './framing.js'
import type { RequestHead } from './request-head.js'

/** Why a request with this head and framing (of `framingOf`) is refused, undefined where it is not. */
export function objectionTo(head: RequestHead, framing: number): Failure | undefined {
  if (head.method === 'CONNECT') return new Failure('not_implemented', 'CONNECT is for forward proxies')
  if (framing === badFraming)
    return new Failure('bad_request', 'Content-Length and Transfer-Encoding contradict or are malformed')
  if (framing === unknownCoding) return new Failure('not_implemented', 'a transfer coding besides chunked')
  // RFC 9112 §6.1: HTTP/1.0 knows no transfer codings, so such a message is faulty framing.
  if (framing === chunked && head.minorVersion === 0) return new Failure('bad_request', 'Transfer-Encoding in HTTP/1.0')
  return objectionToExpect(head)
}

function objectionToExpect(head: RequestHead): Failure | undefined {
  const { headers, minorVersion } = head
  if (minorVersion === 0) return undefined
  for (let index = headers.find(Field.expect); index !== -1; index = headers.find(Field.expect, index + 1)) {
    if (!headers.hasValue(index, '100-continue'))
      return new Failure('expectation_failed', 'an expectation besides 100-continue')
  }
  return undefined
}

/** Whether the client wants this request to be the last of its connection (RFC 9112 §9.3). */
export function wantsClose(head: RequestHead): boolean {
  return head.minorVersion === 0 || hasConnectionOption(head.headers, 'close')
}
