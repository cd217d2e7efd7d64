// The answer to what could not be parsed: a status, a reason code, and the end of the connection. Used by the server side.
import { httpDate } from '../wire/date.js'
import type { Failure } from '../wire/failure.js'
import { reasonPhrase } from '../wire/status.js'

/** A whole response that says the failure's code and closes. */
export function refusalBytes(failure: Failure): Buffer {
  const body = `${failure.status} ${failure.code}\n`
  const lines = [
    `HTTP/1.1 ${failure.status} ${reasonPhrase(failure.status)}`,
    `date: ${httpDate()}`,
    'content-type: text/plain',
    `content-length: ${body.length}`,
    'connection: close',
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1')
}
