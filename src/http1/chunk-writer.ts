// Puts bytes into chunks (RFC 9112 §7.1). Used by both sides.
import { ByteWriter } from '../wire/byte-writer.js'
import type { HeaderBlock } from '../wire/header-block.js'

const out = new ByteWriter()
const lastChunk = Buffer.from('0\r\n\r\n')

/** A chunk in its framing, in one piece of memory. */
export function chunkOf(data: Buffer): Buffer {
  const sizeLine = data.length.toString(16)
  out.reserve(data.length + sizeLine.length + 4)
  out.text(sizeLine)
  out.crlf()
  out.copy(data, 0, data.length)
  out.crlf()
  return out.take()
}

/** The last chunk with its trailer section (RFC 9112 §7.1.2); `trailers` are copied. */
export function lastChunkOf(trailers: HeaderBlock | undefined): Buffer {
  if (trailers === undefined) return lastChunk
  out.reserve(trailers.writtenBytesMax + 8)
  out.text('0\r\n')
  trailers.writeLines(out)
  out.crlf()
  return out.take()
}
