// The measured address of a socket's other end, in the two forms the log and the headers need.
// Read once at accept: a socket forgets it when it closes.

import type { Socket } from 'node:net'

/** `peer` is `ip:port` or `[v6]:port`; `peerAddress` the address alone, without zone. */
export interface Peer {
  readonly peer: string
  readonly peerAddress: string
}

/** Reads the peer of an accepted socket; undefined where the client has already reset it. */
export function peerOf(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): Peer | undefined {
  const { remoteAddress, remotePort } = socket
  if (remoteAddress === undefined || remotePort === undefined) return undefined
  const peerAddress = plainAddress(remoteAddress)
  return { peer: `${peerAddress.includes(':') ? `[${peerAddress}]` : peerAddress}:${remotePort}`, peerAddress }
}

const mappedPrefix = /^::ffff:(?=\d+\.)/i

/** A dual-stack socket shows IPv4 peers as `::ffff:192.0.2.1`; everywhere else they are written `192.0.2.1`. */
function plainAddress(address: string): string {
  return address.replace(mappedPrefix, '').replace(/%.*$/, '')
}
