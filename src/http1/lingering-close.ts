// Ends a connection so that the other side can still read what was said last. A socket that is closed while bytes wait
// unread in it is reset, and the reset overtakes the answer (RFC 9112 §9.6). Used by the server connection.
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { deadlines, nowMs, type Timed } from '../wire/deadlines.js'

const lingerMs = 2_000

/**
 * Lets what was written leave, within `flushMs`, and says that nothing more comes; then reads and discards until the
 * client closes too, for two seconds at most.
 */
export function closeLingering(socket: Socket, flushMs: number): void {
  if (socket.destroyed) return
  const linger: Timed = { deadlineMs: nowMs() + flushMs, onDeadline: () => socket.destroy() }
  // A slow reader may need far longer than the linger for the end of a large answer, which still waits here.
  socket.end(() => {
    linger.deadlineMs = nowMs() + lingerMs
  })
  socket.resume()
  deadlines.watch(linger)
  socket.once('close', () => deadlines.forget(linger))
}

/** Ends a connection whose mere end would look like the end of what was said on it. */
export function closeByReset(socket: Socket): void {
  // TLS tells a cut from an end by itself: `destroy` sends no close_notify.
  if (socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}
