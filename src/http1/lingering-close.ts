// Ends a connection so that the other side can still read what was said last. A socket that is closed while bytes wait
// unread in it is reset, and the reset overtakes the answer (RFC 9112 §9.6). Used by the server connection.
import type { Socket } from 'node:net'
import { deadlines, nowMs, type Timed } from '../wire/deadlines.js'

const lingerMs = 2_000

/** Says that nothing more comes, then reads and discards until the client closes too, for two seconds at most. */
export function closeLingering(socket: Socket): void {
  if (socket.destroyed) return
  socket.end()
  socket.resume()
  const linger: Timed = { deadlineMs: nowMs() + lingerMs, onDeadline: () => socket.destroy() }
  deadlines.watch(linger)
  socket.once('close', () => deadlines.forget(linger))
}
