// The last words to a connection that is not taken: a TLS alert or a short HTTP answer, one fixed buffer each.
// The listener writes them; after them nothing else is said.

import type { PreambleRefusal } from './preamble.js'

/** Why the listener itself, not TLS, turned a handshake away. */
export type RefusalReason = PreambleRefusal | 'unrecognized_name'

const plainHttpBody = 'This port speaks HTTPS, and the request came as plain HTTP.\n'
const plainHttpAnswer = Buffer.from(
  'HTTP/1.1 400 Bad Request\r\n' +
    'content-type: text/plain; charset=utf-8\r\n' +
    `content-length: ${plainHttpBody.length}\r\n` +
    'connection: close\r\n' +
    '\r\n' +
    plainHttpBody,
)

const answers: { readonly [Reason in RefusalReason]?: Buffer } = {
  // RFC 6066 §3: an unknown name ends the handshake with this alert rather than with another site's certificate.
  unrecognized_name: fatalAlert(112),
  malformed_hello: fatalAlert(50), // decode_error
  hello_too_large: fatalAlert(50),
  plain_http: plainHttpAnswer,
}

/** What a refused client is told, or undefined where it speaks nothing that we could answer in. */
export function refusalAnswer(reason: RefusalReason): Buffer | undefined {
  return answers[reason]
}

/** A record with one fatal alert (RFC 8446 §6), as it stands before any keys are agreed on. */
function fatalAlert(description: number): Buffer {
  return Buffer.from([0x15, 3, 3, 0, 2, 2, description])
}
