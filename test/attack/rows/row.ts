// One row of the table of requests: what is sent, what the client must get, and what an upstream must see of it.
import type { SeenRequest } from '../../support/request-reader.js'

/** A request and its one right outcome. */
export interface Row {
  readonly name: string
  /** One character a byte. */
  readonly bytes: string
  readonly status: number
  /** `nothing` reaches an upstream; or a request that stays `unfinished` and whose connection ends; or this one, whole. */
  readonly seen: SeenRequest | 'nothing' | 'unfinished'
  /** Whether the connection takes another request afterwards. */
  readonly isReusable: boolean
}

/** Refused while the head is read: answered, closed, and no upstream hears of it. */
export function refused(name: string, bytes: string, status = 400): Row {
  return { name, bytes, status, seen: 'nothing', isReusable: false }
}

/** Refused while the body is read: an upstream may have the beginning, never the whole. */
export function broken(name: string, bytes: string, status = 400): Row {
  return { name, bytes, status, seen: 'unfinished', isReusable: false }
}

/** Answered by Hostward itself; the connection goes on. */
export function answered(name: string, bytes: string, status: number): Row {
  return { name, bytes, status, seen: 'nothing', isReusable: true }
}

/** Forwarded byte for byte, but for the lines that Hostward adds. */
export function unchanged(name: string, bytes: string): Row {
  const headEnd = bytes.indexOf('\r\n\r\n') + 4
  return forwarded(name, bytes, { head: bytes.slice(0, headEnd), body: bytes.slice(headEnd) })
}

/** Forwarded as `seen`, without the lines that Hostward adds. */
export function forwarded(name: string, bytes: string, seen: { head: string; body?: string; trailers?: string }): Row {
  return { name, bytes, status: 200, seen: { body: '', trailers: '', ...seen }, isReusable: true }
}

/** As `row`, and the connection ends with the answer. */
export function closing(row: Row): Row {
  return { ...row, isReusable: false }
}

/** A GET for the site with an upstream, with more field lines. */
export function get(fields = ''): string {
  return `GET / HTTP/1.1\r\nHost: a.example\r\n${fields}\r\n`
}

/** A POST with more field lines, then `body` as it is. */
export function post(fields: string, body = ''): string {
  return `POST / HTTP/1.1\r\nHost: a.example\r\n${fields}\r\n${body}`
}

/** Every separator of RFC 9110 §5.6.2: none may be in a token. */
export const separators = Array.from('(),/:;<=>?@[\\]{}"')

/** A byte as a test's name shows it. */
export function shown(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
