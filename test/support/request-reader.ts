// Reads requests out of bytes by the letter of RFC 9112, slowly and plainly: what an upstream that parses by the book sees.

/** One whole request; every text is one character a byte. */
export interface SeenRequest {
  /** Request line and field lines, with the empty line. */
  readonly head: string
  /** Without chunked framing. */
  readonly body: string
  /** The field lines behind the last chunk. */
  readonly trailers: string
}

/** The whole request at `from` and the offset behind it, undefined while bytes are missing. */
export function readRequest(bytes: string, from: number): { request: SeenRequest; end: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n', from)
  if (headEnd === -1) return undefined
  const start = headEnd + 4
  const head = bytes.slice(from, start)
  if (/^transfer-encoding:[ \t]*chunked[ \t]*\r$/im.test(head)) return readChunks(bytes, start, head)
  const length = Number(/^content-length:[ \t]*(\d+)[ \t]*\r$/im.exec(head)?.[1] ?? 0)
  if (bytes.length < start + length) return undefined
  return { request: { head, body: bytes.slice(start, start + length), trailers: '' }, end: start + length }
}

function readChunks(bytes: string, from: number, head: string): { request: SeenRequest; end: number } | undefined {
  let body = ''
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(bytes.slice(at, lineEnd), 16)
    if (size === 0) return readTrailers(bytes, lineEnd + 2, { head, body })
    body += bytes.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 2 + size + 2
    if (bytes.length < at) return undefined
  }
}

function readTrailers(
  bytes: string,
  from: number,
  read: { head: string; body: string },
): { request: SeenRequest; end: number } | undefined {
  if (bytes.startsWith('\r\n', from)) return { request: { ...read, trailers: '' }, end: from + 2 }
  const end = bytes.indexOf('\r\n\r\n', from)
  if (end === -1) return undefined
  return { request: { ...read, trailers: bytes.slice(from, end + 2) }, end: end + 4 }
}

const ownLines =
  /x-forwarded-for: 127\.0\.0\.1\r\nx-forwarded-proto: https\r\nx-forwarded-host: ([^\r\n]*)\r\nforwarded: for=127\.0\.0\.1;host="?\1"?;proto=https\r\nx-request-id: [\w-]+\r\nvia: 1\.[01] hostward\r\n/

/** A head without the lines that Hostward adds; throws where they are not exactly as they have to be. */
export function withoutOwnLines(head: string): string {
  if (!ownLines.test(head)) throw new Error(`the lines of Hostward are missing in ${JSON.stringify(head)}`)
  return head.replace(ownLines, '')
}
