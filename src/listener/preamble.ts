// What stands before TLS on a connection: the ClientHello is looked at and given back. A PROXY header will be read here.
// Never reads by 'data' events: bytes in flight would be lost when the socket is handed to TLS.

import type { Socket } from 'node:net'
import type { ClientHello } from '../net/client-hello.js'
import { readClientHello } from '../net/client-hello.js'

/** Why a connection never came as far as a handshake. */
export type PreambleRefusal = 'plain_http' | 'not_tls' | 'malformed_hello' | 'hello_too_large'

/** How a preamble ended. `left` also stands for a socket that was destroyed on our side. */
export type PreambleEnd =
  | { readonly kind: 'hello'; readonly hello: ClientHello }
  | { readonly kind: 'refused'; readonly reason: PreambleRefusal }
  | { readonly kind: 'left' }

/**
 * Reads until the ClientHello is whole, puts all bytes back into the socket, and settles once. Keeps no deadline: the
 * caller destroys a socket that takes too long, which settles as `left`. After `refused` the bytes are gone.
 */
export function readPreamble(socket: Socket, settle: (end: PreambleEnd) => void): void {
  const chunks: Buffer[] = []
  let bytesRead = 0
  let bytesNeeded = 1

  const onReadable = (): void => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
      chunks.push(chunk)
      bytesRead += chunk.length
    }
    if (bytesRead < bytesNeeded) return
    const bytes = Buffer.concat(chunks)
    const judged = judge(bytes)
    if (judged.kind === 'incomplete') {
      bytesNeeded = judged.bytesNeeded
      return
    }
    end(judged, judged.kind === 'hello' ? bytes : undefined)
  }
  const onLeft = (): void => end({ kind: 'left' })
  const end = (result: PreambleEnd, unread?: Buffer): void => {
    socket.off('readable', onReadable).off('end', onLeft).off('close', onLeft)
    if (unread !== undefined) socket.unshift(unread)
    settle(result)
  }
  socket.on('readable', onReadable).on('end', onLeft).on('close', onLeft)
}

type Judged = Exclude<PreambleEnd, { kind: 'left' }> | { readonly kind: 'incomplete'; readonly bytesNeeded: number }

function judge(bytes: Buffer): Judged {
  const verdict = readClientHello(bytes)
  switch (verdict.kind) {
    case 'hello':
    case 'incomplete':
      return verdict
    case 'malformed':
      return { kind: 'refused', reason: 'malformed_hello' }
    case 'too_large':
      return { kind: 'refused', reason: 'hello_too_large' }
    case 'not_tls':
      return judgeForeign(bytes)
  }
}

/** A method and a space: someone speaks HTTP to a TLS port, and can be told so. */
function judgeForeign(bytes: Buffer): Judged {
  const start = bytes.toString('latin1', 0, httpMethodBytesMax + 1)
  if (/^[A-Z]+ /.test(start)) return { kind: 'refused', reason: 'plain_http' }
  const mayBecomeHttp = bytes.length <= httpMethodBytesMax && /^[A-Z]+$/.test(start)
  return mayBecomeHttp ? { kind: 'incomplete', bytesNeeded: bytes.length + 1 } : { kind: 'refused', reason: 'not_tls' }
}

const httpMethodBytesMax = 16
