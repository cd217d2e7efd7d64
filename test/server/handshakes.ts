// Clients that come again and again, each for one name, and verify what they are shown as a strict CDN does. Used by tests
// of renewal.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import type { CertificatePair } from '../support/certificates.js'
import { within } from '../support/deadline.js'
import { connectHttp1 } from '../support/wires.js'

/** What went wrong with a client that asked for this name. */
export interface Failure {
  readonly servername: string
  readonly error: unknown
}

// More would not be more handshakes: server and clients share one thread.
const handshakesAtOnce = 4
const failuresMax = 100

/** By what a client knows the certificate of a pair. */
export function fingerprintOf({ cert }: CertificatePair): string {
  return new X509Certificate(cert).fingerprint256
}

/** Whom the clients call, and the only authority that they trust. */
export interface HandshakesOptions {
  readonly port: number
  readonly root: string
}

/** A client: the name that it asks for and, where a site has pairs of several types, the signatures that it takes. */
export interface Caller {
  readonly servername: string
  readonly sigalgs?: string
}

/** Handshakes without pause until it is stopped; whatever is not as it should be is kept in `failures`. */
export class Handshakes {
  readonly failures: Failure[] = []
  readonly #options: HandshakesOptions
  readonly #allowed = new Map<Caller, ReadonlySet<string>>()
  readonly #rounds = new Set<Round>()
  #shaking: Promise<unknown> | undefined
  #turn = 0
  #isStopping = false

  constructor(options: HandshakesOptions) {
    this.#options = options
  }

  /** Another client, which must be shown this pair. */
  add(caller: Caller, pair: CertificatePair): void {
    this.allowOnly(caller, pair)
    this.#shaking ??= Promise.all(Array.from({ length: handshakesAtOnce }, () => this.#shake()))
  }

  /** From now on the client may be shown this pair too. */
  allowAlso(caller: Caller, pair: CertificatePair): void {
    this.#allowed.set(caller, new Set([...(this.#allowed.get(caller) ?? []), fingerprintOf(pair)]))
  }

  /** Handshakes of the client that begin from now on must show this pair. */
  allowOnly(caller: Caller, pair: CertificatePair): void {
    this.#allowed.set(caller, new Set([fingerprintOf(pair)]))
  }

  /** Resolves once each client has made a handshake that began after this call. */
  async round(): Promise<void> {
    const all = new Promise<void>((resolve) => this.#rounds.add({ missing: new Set(this.#allowed.keys()), resolve }))
    await within('a handshake of each client', all)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#shaking
  }

  async #shake(): Promise<void> {
    while (!this.#isStopping) {
      const caller = this.#nextCaller()
      const rounds = [...this.#rounds]
      const allowed = this.#allowed.get(caller)
      await this.#shakeOnce(caller, allowed).catch((error: unknown) =>
        this.#fail({ servername: caller.servername, error }),
      )
      for (const round of rounds) this.#tick(round, caller)
    }
  }

  #nextCaller(): Caller {
    const callers = [...this.#allowed.keys()]
    const caller = callers[this.#turn++ % callers.length]
    assert.ok(caller)
    return caller
  }

  async #shakeOnce(caller: Caller, allowedBefore: ReadonlySet<string> | undefined): Promise<void> {
    const { port, root: ca } = this.#options
    const { servername, ...sigalgs } = caller
    const client = await connectHttp1({ port, servername, tls: { ca, rejectUnauthorized: true, ...sigalgs } })
    // A client that leaves the moment it is done would be one that left within the handshake, to the server.
    const { status } = await client.ask(servername)
    client.close()
    assert.equal(status, 200)
    const isAllowed = [allowedBefore, this.#allowed.get(caller)].some((set) => set?.has(client.fingerprint256))
    assert.ok(isAllowed, `${servername} shows a certificate whose turn it is`)
  }

  #fail(failure: Failure): void {
    if (this.failures.length < failuresMax) this.failures.push(failure)
  }

  #tick(round: Round, caller: Caller): void {
    round.missing.delete(caller)
    if (round.missing.size > 0) return
    this.#rounds.delete(round)
    round.resolve()
  }
}

interface Round {
  readonly missing: Set<Caller>
  readonly resolve: () => void
}
