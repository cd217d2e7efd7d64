// What becomes of what could not be parsed: an answer that ends the connection, and what the log hears of it. Used by the server side.

import type { Connection } from '../wire/connection.js'
import { httpDate } from '../wire/date.js'
import type { Refusal } from '../wire/downstream.js'
import type { Failure } from '../wire/failure.js'
import { reasonPhrase } from '../wire/status.js'
import type { RequestHead } from './request-head.js'

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

/** What the log hears of a refusal: as much of the request as had been read. */
export function refusalOf(refused: {
  connection: Connection
  head: RequestHead | undefined
  failure: Failure
  status: number | null
}): Refusal {
  const { connection, head, failure, status } = refused
  const isTargetKnown = head !== undefined && head.target !== ''
  return {
    connection,
    protocol: 'http/1.1',
    status,
    failure,
    method: isTargetKnown ? head.method : null,
    target: isTargetKnown ? head.target : null,
    host: null,
  }
}
