// Parses the head of a request out of the one buffer it came in (RFC 9112 §3, §5). Used by the server side;
// copies nothing but the method and the target, and refuses everything that the grammar does not know.
import { isTargetByte, isTokenByte } from '../wire/character.js'
import { Failure, type FailureCode } from '../wire/failure.js'
import { HeaderBlock } from '../wire/header-block.js'
import { badField, fieldsTooLarge, incomplete, scanFieldLines } from './field-lines.js'

/** What bounds a request head. */
export interface RequestHeadLimits {
  readonly headerBytes: number
  readonly headerCount: number
  readonly targetBytes: number
}

/** Longest method that is passed on, in bytes. */
const methodBytesMax = 32
/** Longest word that is taken for a method, in bytes; what goes on without a space is no request line. */
const methodWordBytesMax = 256

const commonMethods = ['GET', 'POST', 'HEAD', 'PUT', 'OPTIONS', 'DELETE', 'PATCH'].map((name) => ({
  name,
  bytes: Buffer.from(name),
}))

/** A parsed request head. One serves a whole process: its content is valid until the next `parse`. */
export class RequestHead {
  method = ''
  /** Origin-form or `*` (latin1). */
  target = ''
  /** The authority of an absolute-form target, undefined for the other forms. */
  authority: string | undefined
  /** 0 or 1: the minor version of HTTP/1. */
  minorVersion = 1
  readonly headers = new HeaderBlock()
  /** Why the last `parse` refused. */
  refusal: Failure | undefined

  /** More bytes than any head that `parse` still finds incomplete: a line is a method, a target and 12 bytes at most. */
  bytesMax(limits: RequestHeadLimits): number {
    return methodWordBytesMax + limits.targetBytes + limits.headerBytes + 64
  }

  /**
   * Reads the head that starts at `from`. Returns the offset behind it, 0 where bytes are missing, or -1 with `refusal` set.
   */
  parse(bytes: Buffer, from: number, limits: RequestHeadLimits): number {
    this.#clear()
    const lineEnd = this.#parseLine(bytes, from, limits)
    if (lineEnd <= 0) return lineEnd
    this.headers.reset(bytes)
    const end = scanFieldLines(bytes, lineEnd, this.headers, limits)
    if (end === badField) return this.#refuse('bad_header', 'a header line breaks the grammar')
    if (end === fieldsTooLarge) return this.#refuse('headers_too_large', 'the headers exceed their limits')
    return end
  }

  #parseLine(bytes: Buffer, from: number, limits: RequestHeadLimits): number {
    const length = bytes.length
    let at = from
    while (at < length && isTokenByte[bytes[at] as number] === 1) at++
    if (at - from > methodWordBytesMax) return this.#refuse('bad_request', 'the method does not end')
    if (at === length) return incomplete
    if (at === from || bytes[at] !== 0x20) return this.#refuse('bad_request', 'the method is not a token')
    // RFC 9112 §3 wants 501 for a method longer than any that is implemented.
    if (at - from > methodBytesMax) return this.#refuse('not_implemented', 'the method is too long')
    const targetStart = at + 1
    this.method = methodAt(bytes, from, at)
    at = targetStart
    while (at < length && isTargetByte[bytes[at] as number] === 1) at++
    if (at - targetStart > limits.targetBytes) return this.#refuse('target_too_long', 'the target is too long')
    if (at === length) return incomplete
    if (at === targetStart || bytes[at] !== 0x20)
      return this.#refuse('bad_request', 'the target has a byte that none may have')
    this.target = bytes.toString('latin1', targetStart, at)
    const lineEnd = this.#parseVersion(bytes, at + 1)
    return lineEnd > 0 && !this.#splitTarget() ? this.#refuse('bad_request', 'the target has no known form') : lineEnd
  }

  /** `HTTP/1.0` or `HTTP/1.1` and CRLF, nothing between. */
  #parseVersion(bytes: Buffer, at: number): number {
    const expected = 'HTTP/'
    const available = Math.min(bytes.length - at, expected.length)
    for (let index = 0; index < available; index++) {
      if (bytes[at + index] !== expected.charCodeAt(index))
        return this.#refuse('bad_request', 'the version is malformed')
    }
    if (bytes.length < at + 10) return this.#versionSoFar(bytes, at)
    const isVersion = isDigit(bytes[at + 5]) && bytes[at + 6] === 0x2e && isDigit(bytes[at + 7])
    if (!isVersion || bytes[at + 8] !== 0x0d || bytes[at + 9] !== 0x0a) {
      return this.#refuse('bad_request', 'the request line does not end with its version')
    }
    this.minorVersion = (bytes[at + 7] as number) - 0x30
    if (bytes[at + 5] === 0x31 && this.minorVersion <= 1) return at + 10
    return this.#refuse('version_not_supported', 'not HTTP/1.0 or HTTP/1.1')
  }

  /** A line feed in a version that is too short is an end of line that no later byte can mend. */
  #versionSoFar(bytes: Buffer, at: number): number {
    const lineFeed = bytes.indexOf(0x0a, at)
    return lineFeed === -1 ? incomplete : this.#refuse('bad_request', 'the request line ends too early')
  }

  // RFC 9112 §3.2.2: a server accepts the absolute-form; it leaves as an origin-form, its authority is compared with Host.
  #splitTarget(): boolean {
    this.authority = undefined
    const target = this.target
    if (target.charCodeAt(0) === 0x2f) return true
    if (target === '*') return this.method === 'OPTIONS'
    if (this.method === 'CONNECT') return true
    const absolute = /^https?:\/\/([^/?]+)(.*)$/i.exec(target)
    if (absolute === null) return false
    this.authority = absolute[1] as string
    const rest = absolute[2] as string
    this.target = rest.startsWith('/') ? rest : originOf(rest, this.method)
    return true
  }

  /** Forgets what it held and says why what does not even begin like a request is refused. */
  refuseStart(detail: string): Failure {
    this.#clear()
    return new Failure('bad_request', detail)
  }

  #clear(): void {
    this.method = ''
    this.target = ''
    this.refusal = undefined
  }

  #refuse(code: FailureCode, detail: string): number {
    this.refusal = new Failure(code, detail)
    return -1
  }
}

// RFC 9112 §3.2.4: OPTIONS on an absolute-form without path and query asks about the server itself.
function originOf(rest: string, method: string): string {
  return rest === '' && method === 'OPTIONS' ? '*' : `/${rest}`
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

/** The method as one shared string where it is a common one. */
function methodAt(bytes: Buffer, start: number, end: number): string {
  for (const method of commonMethods) {
    if (method.bytes.length !== end - start) continue
    let index = 0
    while (index < method.bytes.length && bytes[start + index] === method.bytes[index]) index++
    if (index === method.bytes.length) return method.name
  }
  return bytes.toString('latin1', start, end)
}
