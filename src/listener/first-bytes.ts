// Reads the first bytes of a connection until a judge has seen enough, and puts back what it did not take. Used for each
// part of the preamble. Never reads by 'data' events: bytes in flight would be lost when the socket is handed to TLS.

import type { Socket } from 'node:net'

/** What a judge makes of the bytes so far; asked again with no fewer than `bytesNeeded`, counted from the first. */
export type Judgement<Found> =
  | { readonly kind: 'incomplete'; readonly bytesNeeded: number }
  | { readonly kind: 'decided'; readonly found: Found; readonly bytesTaken: number }

/**
 * Asks `judge` until it decides, and settles once: with what it found, or `left` where the client closed before, or the
 * socket was destroyed. Keeps no deadline: the caller destroys a socket that takes too long.
 */
export function judgeFirstBytes<Found>(
  socket: Socket,
  judge: (bytes: Buffer) => Judgement<Found>,
  settle: (found: Found | 'left') => void,
): void {
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
    if (judged.kind === 'decided') return end(judged.found, bytes.subarray(judged.bytesTaken))
    bytesNeeded = judged.bytesNeeded
  }
  const onLeft = (): void => end('left')
  const end = (found: Found | 'left', unread?: Buffer): void => {
    socket.off('readable', onReadable).off('end', onLeft).off('close', onLeft)
    if (unread !== undefined && unread.length > 0) socket.unshift(unread)
    settle(found)
  }
  socket.on('readable', onReadable).on('end', onLeft).on('close', onLeft)
}
