// One accepted connection from accept to close: who is there, how far it has come, and what it turned into. Made and
// kept by the listener; what a PROXY header claimed lives here and nowhere else, so it ends with the connection.

import type { Socket } from 'node:net'
import { formatAddress } from '../net/address.js'
import type { ProxyHeader } from '../net/proxy-protocol-header.js'
import type { Connection } from '../wire/connection.js'
import type { Peer } from './peer.js'

/** The one who speaks on a connection once it is decrypted. */
export interface Served {
  /** Finish what is in flight, take nothing new, then close. */
  drain(): void
  /** Close at once. */
  destroy(): void
  /** Requests begun so far; read when the connection has closed. */
  readonly requests: number
}

/** What a handshake has come to. */
export type Agreed = Pick<Connection, 'tlsVersion' | 'clientProof'>

/** Before a handshake, and for ever where there is none. */
export const nothingAgreed: Agreed = { tlsVersion: null, clientProof: undefined }

type Claim = Pick<Connection, 'claimed' | 'claimedAddress' | 'claimedBy'>

const noClaim: Claim = { claimed: null, claimedAddress: null, claimedBy: null }

// Unique in the process, over all listeners, so that a log line needs no second field.
let connectionsBegun = 0

/** The state of one connection. */
export class Entry {
  readonly raw: Socket
  readonly peer: Peer
  readonly id: string
  sni: string | null = null
  stage: 'arriving' | 'served' | 'ended' = 'arriving'
  served: Served | undefined
  #claim = noClaim
  #headerBytes = 0

  constructor(raw: Socket, peer: Peer) {
    connectionsBegun += 1
    this.raw = raw
    this.peer = peer
    this.id = connectionsBegun.toString(36)
  }

  /** Remembers what a trusted PROXY header claims. */
  take(header: ProxyHeader): void {
    this.#headerBytes = header.byteCount
    if (header.claim === undefined) return
    const { address, port } = header.claim.source
    const claimedBy = header.version === 1 ? 'proxy-v1' : 'proxy-v2'
    this.#claim = { claimed: formatAddress(address, port), claimedAddress: address, claimedBy }
  }

  /** The address that is nearest to the client, as far as the listener knows. */
  get clientAddress(): string {
    return this.#claim.claimedAddress ?? this.peer.peerAddress
  }

  /** Whether the client itself has said anything; a PROXY header is its forwarder's. */
  get hasSpoken(): boolean {
    return this.raw.bytesRead > this.#headerBytes
  }

  /** The facts of it for those above the listener; `tlsVersion` is null until there is one. */
  describe(listener: string, { tlsVersion, clientProof }: Agreed): Connection {
    const { id, sni, peer } = this
    return { id, listener, ...peer, ...this.#claim, sni, tlsVersion, clientProof }
  }
}
