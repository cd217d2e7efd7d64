// The measured addresses of a socket, in the forms that the log and the headers need.
// Read once at accept: a socket forgets them when it closes.

import type { Socket } from 'node:net'
import { formatAddress, plainAddress } from '../net/address.js'

/** `peer` is `ip:port` or `[v6]:port`; `peerAddress` the address alone, without zone; `local` is where it has connected to. */
export interface Peer {
  readonly peer: string
  readonly peerAddress: string
  readonly local: string
}

type Addresses = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>

/** Reads the peer of an accepted socket; undefined where the client has already reset it. */
export function peerOf(socket: Addresses): Peer | undefined {
  const { remoteAddress, remotePort, localAddress = '', localPort = 0 } = socket
  if (remoteAddress === undefined || remotePort === undefined) return undefined
  const peer = formatAddress(remoteAddress, remotePort)
  return { peer, peerAddress: plainAddress(remoteAddress), local: formatAddress(localAddress, localPort) }
}
