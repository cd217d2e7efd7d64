// The port of a server that listens on one.
import type { Server } from 'node:net'

/** The port that the system chose. */
export function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server is not open')
  return address.port
}
