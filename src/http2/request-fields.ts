// The head of an outgoing request as HTTP/2 has it (RFC 9113 §8.3.1, RFC 8441 §4). Used by the client's streams.
import type { OutgoingFields, OutgoingRequest } from '../wire/attempt.js'
import { unknownLength } from '../wire/body.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { RequestHead } from './hpack-encoder.js'

const contentLength = 'content-length'

/** What goes to the encoder; a switch of protocols is an extended CONNECT here. */
export function requestHeadOf(request: OutgoingRequest, fields: OutgoingFields): RequestHead {
  const { body, upgrade } = request
  const { scheme, authority, path, headers } = fields
  // The length counts for the endpoint, which would otherwise wait for the end to know it.
  if (body !== undefined && body.lengthBytes !== unknownLength && !hasLength(headers)) {
    headers.add(contentLength, String(body.lengthBytes))
  }
  return {
    method: upgrade === undefined ? request.method : 'CONNECT',
    scheme,
    authority,
    path,
    protocol: upgrade,
    headers,
  }
}

/** Also where an earlier attempt at the same request has added it. */
function hasLength(headers: HeaderBlock): boolean {
  return headers.find(Field.contentLength) !== -1 || headers.added.includes(contentLength)
}
