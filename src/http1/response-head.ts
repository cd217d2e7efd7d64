// Parses the head of a response (RFC 9112 §4, §5) out of the buffer it came in. Used by the client side;
// an endpoint is not trusted more than a client: what breaks the grammar is refused.

import { isValueByte } from '../wire/character.js'
import type { ResponseHead } from '../wire/downstream.js'
import { HeaderBlock } from '../wire/header-block.js'
import { badField, type FieldLimits, fieldsTooLarge, incomplete, scanFieldLines } from './field-lines.js'

/** Longest reason phrase that is taken, in bytes. */
const reasonBytesMax = 1024

const prefix = Buffer.from('HTTP/1.')

/** A parsed response head. One serves a whole process: its content is valid until the next `parse`. */
export class ParsedResponseHead implements ResponseHead {
  status = 0
  reason = ''
  /** 0 or 1: the minor version of HTTP/1. */
  minorVersion = 1
  readonly headers = new HeaderBlock()
  /** What the last `parse` objected to. */
  objection = ''

  /** More bytes than any head that `parse` still finds incomplete. */
  bytesMax(limits: FieldLimits): number {
    return limits.headerBytes + reasonBytesMax + 64
  }

  /** Reads the head that starts at `from`. Returns the offset behind it, 0 where bytes are missing, or -1 with `objection` set. */
  parse(bytes: Buffer, from: number, limits: FieldLimits): number {
    const lineEnd = this.#parseLine(bytes, from)
    if (lineEnd <= 0) return lineEnd
    this.headers.reset(bytes)
    const end = scanFieldLines(bytes, lineEnd, this.headers, limits)
    if (end === badField) return this.#object('a header line breaks the grammar')
    if (end === fieldsTooLarge) return this.#object('the headers exceed their limits')
    return end
  }

  /** `HTTP/1.x 3DIGIT [SP reason] CRLF`; a missing space before an empty reason is common and harmless. */
  #parseLine(bytes: Buffer, from: number): number {
    for (let index = 0; index < prefix.length && from + index < bytes.length; index++) {
      if (bytes[from + index] !== prefix[index]) return this.#object('not an HTTP/1 status line')
    }
    if (bytes.length < from + 14)
      return bytes.indexOf(0x0a, from) === -1 ? incomplete : this.#object('a short status line')
    this.minorVersion = (bytes[from + 7] as number) - 0x30
    if ((this.minorVersion !== 0 && this.minorVersion !== 1) || bytes[from + 8] !== 0x20)
      return this.#object('not HTTP/1.0 or HTTP/1.1')
    this.status = statusAt(bytes, from + 9)
    // RFC 9110 §15: what is above 599 is to be taken for a 5xx. Some services do answer 999, so the client gets it as it is.
    if (this.status < 100) return this.#object('a status that does not exist')
    return this.#parseReason(bytes, from + 12)
  }

  #parseReason(bytes: Buffer, from: number): number {
    const start = bytes[from] === 0x20 ? from + 1 : from
    let at = start
    while (at < bytes.length && isValueByte[bytes[at] as number] === 1) at++
    if (at - start > reasonBytesMax) return this.#object('the reason phrase is too long')
    if (at + 1 >= bytes.length)
      return at < bytes.length && bytes[at] !== 0x0d ? this.#object('a bad reason phrase') : incomplete
    if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a || (start === from && at !== from))
      return this.#object('a bad reason phrase')
    this.reason =
      at - start === 2 && bytes[start] === 0x4f && bytes[start + 1] === 0x4b
        ? 'OK'
        : bytes.toString('latin1', start, at)
    return at + 2
  }

  #object(objection: string): number {
    this.objection = objection
    return -1
  }
}

/** Three digits as a number, -1 where one is none. */
function statusAt(bytes: Buffer, at: number): number {
  let status = 0
  for (let index = at; index < at + 3; index++) {
    const digit = (bytes[index] as number) - 0x30
    if (digit < 0 || digit > 9) return -1
    status = status * 10 + digit
  }
  return status
}
