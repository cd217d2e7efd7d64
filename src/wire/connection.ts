// One accepted connection, as every wire and the access log see it. Made by the listener, read by all; holds no socket,
// so that nothing above the listener can write to one by accident.

/** Who is at the other end of one accepted connection, and what TLS agreed on. Addresses are `ip:port`, `[v6]:port`. */
export interface Connection {
  /** Unique in this process; appears as `connectionId` in the log. */
  readonly id: string
  /** Name of the listener that accepted it. */
  readonly listener: string
  /** The measured socket address of the neighbour; captured at accept, because sockets forget it on close. */
  readonly peer: string
  /** `peer` without its port, brackets and zone: what X-Forwarded-For carries. */
  readonly peerAddress: string
  /** The address that the neighbour has connected to; captured at accept too. */
  readonly local: string
  /** What a PROXY header or a trusted request header claims the client to be; null where nobody claimed. */
  readonly claimed: string | null
  /** `claimed` without its port and brackets, null with it. */
  readonly claimedAddress: string | null
  /** Who made that claim: `proxy-v1`, `proxy-v2`; null with `claimed`. */
  readonly claimedBy: string | null
  /** The server name of the ClientHello, normalised; null without one and on plain listeners. */
  readonly sni: string | null
  /** `TLSv1.3`, `TLSv1.2`, or null on a plain listener. */
  readonly tlsVersion: string | null
  /** What the client answered when the handshake asked for a certificate; undefined where it did not ask. */
  readonly clientProof: ClientProof | undefined
}

/** What a client proved in the full handshake of its connection; never what a resumed session remembers. */
export interface ClientProof {
  /** The policy that the handshake asked under, and the set of authorities that OpenSSL verified against. */
  readonly policyId: string
  readonly trustId: string
  /** The certificates as they were sent, DER, the client's own first; empty where it sent none. */
  readonly chain: readonly Buffer[]
  /** OpenSSL's objection (`CERT_HAS_EXPIRED`); undefined where it has none. Says nothing about any other trust. */
  readonly verifyError: string | undefined
  /** When that was, in milliseconds since the epoch. */
  readonly shownAtMs: number
}
