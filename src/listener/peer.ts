// The measured address of a socket's other end, in the two forms the log and the headers need.
// Read once at accept: a socket forgets it when it closes.

import type { Socket } from 'node:net'
import { formatAddress, plainAddress } from '../net/address.js'

/** `peer` is `ip:port` or `[v6]:port`; `peerAddress` the address alone, without zone. */
export interface Peer {
  readonly peer: string
  readonly peerAddress: string
}

/** Reads the peer of an accepted socket; undefined where the client has already reset it. */
export function peerOf(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): Peer | undefined {
  const { remoteAddress, remotePort } = socket
  if (remoteAddress === undefined || remotePort === undefined) return undefined
  return { peer: formatAddress(remoteAddress, remotePort), peerAddress: plainAddress(remoteAddress) }
}
