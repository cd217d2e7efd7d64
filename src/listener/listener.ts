// A bound, named address: accepts, bounds and counts connections, ends TLS on them, and hands the decrypted socket on.
// Used by the server. Knows no HTTP, no site and no configuration: what a connection means is asked of the hooks.

import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { ClientHello } from '../net/client-hello.js'
import type { Connection } from '../wire/connection.js'
import type { AddressRules } from './address-rules.js'
import { AgeLimit } from './age-limit.js'
import { countHeader, type ListenerCounters, newCounters } from './counters.js'
import { type Agreed, Entry, nothingAgreed, type Served } from './entry.js'
import { judgeFirstBytes } from './first-bytes.js'
import { type HandshakeTerms, type Protocol, shakeHands } from './handshake.js'
import { ListenError } from './listen-error.js'
import { peerOf } from './peer.js'
import { headerJudge, judgeHello, type ProxyHeaderRules } from './preamble.js'
import type { RefusalReason } from './refusal.js'
import { refusalAnswer } from './refusal.js'

/** What a reload may change of a listener; asked for anew at every connection. */
export interface ListenerSettings {
  /** False: the socket is served as it is, as HTTP/1.1. */
  readonly tls: boolean
  readonly http2: boolean
  /** Connections open at once on this listener; one more is closed as it comes. */
  readonly connectionsMax: number
  /** From accept to the end of the TLS handshake, preamble included. */
  readonly handshakeMs: number
  /** Undefined: no PROXY header is looked for. */
  readonly proxyHeader: ProxyHeaderRules | undefined
  /** Undefined: every address may connect. */
  readonly allow: AddressRules | undefined
}

/** What the listener asks of the server. None of these may throw. */
export interface ListenerHooks {
  /** What answers exactly this hello, or undefined: refused with an unrecognized_name alert. */
  choose(hello: ClientHello): HandshakeTerms | undefined
  /**
   * Takes the decrypted socket, which has an error listener and allows half-open: its `end` is the taker's to answer.
   * The listener keeps what is returned, to drain and to destroy it.
   */
  serve(socket: Socket, connection: Connection, protocol: Protocol): Served
  /** A connection that said something and did not come as far as a finished handshake. */
  onHandshakeFailed(failure: { readonly connection: Connection; readonly reason: string }): void
}

/** A listener's fixed facts; everything else is in its settings. */
export interface ListenerOptions {
  readonly name: string
  /** Undefined binds all addresses. */
  readonly host: string | undefined
  /** 0 asks the system for a free one. */
  readonly port: number
  readonly settings: () => ListenerSettings
  readonly hooks: ListenerHooks
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number
}

const backlogMax = 4096
// Long enough to read seven bytes or a short answer, short enough that refusing costs nothing.
const lastWordsMs = 2000

/** Opened once, drained and closed once. */
export class Listener {
  readonly name: string
  readonly counters: Readonly<ListenerCounters>
  readonly #counters = newCounters()
  readonly #options: ListenerOptions
  readonly #server: Server
  readonly #entries = new Set<Entry>()
  readonly #arriving: AgeLimit<Entry>
  readonly #leaving: AgeLimit<Entry>
  #draining = false

  constructor(options: ListenerOptions) {
    const now = options.now ?? (() => performance.now())
    this.name = options.name
    this.#options = options
    this.counters = this.#counters
    this.#arriving = new AgeLimit({
      ageMs: () => options.settings().handshakeMs,
      now,
      expire: (entry) => this.#abandon(entry, 'timeout'),
    })
    this.#leaving = new AgeLimit({ ageMs: () => lastWordsMs, now, expire: (entry) => entry.raw.destroy() })
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (raw) => this.#accept(raw))
  }

  /** Binds and accepts from then on; throws a ListenError where the address cannot be had. */
  async open(): Promise<void> {
    const { host, port } = this.#options
    this.#server.listen({ port, backlog: backlogMax, ...(host === undefined ? {} : { host }) })
    try {
      await once(this.#server, 'listening')
    } catch (error) {
      const bind = `${host?.includes(':') ? `[${host}]` : (host ?? '')}:${port}`
      throw new ListenError({ listener: this.name, bind, cause: error as NodeJS.ErrnoException })
    }
    // From here on an error is one failed accept (out of descriptors); the listener itself goes on.
    this.#server.on('error', () => {
      this.#counters.acceptErrors += 1
    })
  }

  /** The bound address and port; undefined before `open` and after `drain`. */
  get address(): { readonly address: string; readonly port: number } | undefined {
    const bound = this.#server.address() as AddressInfo | null
    return bound === null ? undefined : { address: bound.address, port: bound.port }
  }

  /** Stops accepting, frees the address and asks every connection to finish; those that never spoke are closed. */
  drain(): void {
    if (this.#draining) return
    this.#draining = true
    this.#server.close()
    for (const entry of this.#entries) {
      if (entry.served !== undefined) entry.served.drain()
      else if (!entry.hasSpoken) this.#dismiss(entry)
    }
  }

  /** Drains, and resolves when the last connection is closed; what is left after `deadlineMs` is destroyed. */
  async close(deadlineMs: number): Promise<void> {
    this.drain()
    const deadline = setTimeout(() => this.#destroyAll(), deadlineMs)
    await Promise.all(Array.from(this.#entries, ({ raw }) => new Promise((resolve) => raw.once('close', resolve))))
    clearTimeout(deadline)
  }

  #accept(raw: Socket): void {
    // Before anything else: a reset in this very moment would otherwise be an uncaught error. What follows is 'close'.
    raw.on('error', () => {})
    const settings = this.#options.settings()
    if (this.#entries.size >= settings.connectionsMax) {
      this.#counters.refusedByLimit += 1
      raw.destroy()
      return
    }
    const entry = this.#enter(raw)
    if (entry === undefined) return
    if (settings.allow?.of === 'peer' && !settings.allow.from.has(entry.peer.peerAddress)) return this.#shutOut(entry)
    this.#arriving.add(entry)
    if (settings.proxyHeader !== undefined) this.#awaitHeader(entry, settings.proxyHeader)
    else this.#admitClaimed(entry, settings)
  }

  // A connection without a header, or with one that names nobody, is the peer's own.
  #admitClaimed(entry: Entry, settings: ListenerSettings): void {
    const { allow } = settings
    if (allow?.of === 'claimed' && !allow.from.has(entry.clientAddress)) this.#shutOut(entry)
    else this.#awaitProtocol(entry, settings)
  }

  /** Closes without a word, and without a line: strangers knock all day. */
  #shutOut(entry: Entry): void {
    this.#arriving.delete(entry)
    entry.stage = 'ended'
    this.#counters.refusedByAllow += 1
    entry.raw.destroy()
  }

  #enter(raw: Socket): Entry | undefined {
    this.#counters.accepted += 1
    const peer = peerOf(raw)
    if (peer === undefined) {
      this.#counters.withoutRequest += 1
      raw.destroy()
      return undefined
    }
    const entry = new Entry(raw, peer)
    this.#entries.add(entry)
    this.#counters.open += 1
    raw.once('close', () => this.#leave(entry))
    return entry
  }

  #leave(entry: Entry): void {
    this.#entries.delete(entry)
    this.#arriving.delete(entry)
    this.#leaving.delete(entry)
    this.#counters.open -= 1
    if (entry.served?.requests === 0) this.#counters.withoutRequest += 1
  }

  #awaitHeader(entry: Entry, rules: ProxyHeaderRules): void {
    judgeFirstBytes(entry.raw, headerJudge(rules, entry.peer.peerAddress), (found) => {
      if (found === 'left') return this.#abandon(entry, 'client_gone')
      countHeader(this.#counters, found)
      if (found.kind === 'refused') return this.#refuse(entry, found.reason)
      if (found.kind === 'header') entry.take(found.header)
      this.#admitClaimed(entry, this.#options.settings())
    })
  }

  #awaitProtocol(entry: Entry, { tls }: ListenerSettings): void {
    if (!tls) return this.#serve(entry, { socket: entry.raw, protocol: 'http/1.1', ...nothingAgreed })
    judgeFirstBytes(entry.raw, judgeHello, (found) => {
      if (found === 'left') this.#abandon(entry, 'client_gone')
      else if (found.kind === 'refused') this.#refuse(entry, found.reason)
      else this.#answerHello(entry, found.hello)
    })
  }

  #answerHello(entry: Entry, hello: ClientHello): void {
    entry.sni = hello.serverName ?? null
    const terms = this.#options.hooks.choose(hello)
    if (terms === undefined) {
      this.#refuse(entry, 'unrecognized_name')
      return
    }
    const protocols: readonly Protocol[] = this.#options.settings().http2 ? ['h2', 'http/1.1'] : ['http/1.1']
    shakeHands(entry.raw, { ...terms, protocols }, (end) => {
      if (end.kind === 'failed') this.#abandon(entry, end.reason)
      else if (end.kind === 'reset') this.#dismiss(entry)
      else this.#serve(entry, { ...end, tlsVersion: end.socket.getProtocol() })
    })
  }

  #serve(entry: Entry, taken: Agreed & { readonly socket: Socket; readonly protocol: Protocol }): void {
    this.#arriving.delete(entry)
    entry.stage = 'served'
    const connection = entry.describe(this.name, taken)
    entry.served = this.#options.hooks.serve(taken.socket, connection, taken.protocol)
    if (this.#draining) entry.served.drain()
  }

  /** Ends an arrival: a failure where it had said something; one that never said a word is not worth a line either. */
  #abandon(entry: Entry, reason: string): void {
    if (entry.stage === 'arriving' && entry.hasSpoken) this.#fail(entry, reason)
    this.#dismiss(entry)
  }

  /** Says why, where the client can understand it, and closes. */
  #refuse(entry: Entry, reason: RefusalReason): void {
    this.#fail(entry, reason)
    const answer = refusalAnswer(reason)
    if (answer === undefined) {
      entry.raw.destroy()
      return
    }
    // Closing with unread bytes would reset the connection and could take the answer with it: read on until the
    // client has closed too, or for a moment.
    entry.raw.end(answer)
    entry.raw.resume()
    this.#leaving.add(entry)
  }

  #fail(entry: Entry, reason: string): void {
    this.#arriving.delete(entry)
    entry.stage = 'ended'
    this.#counters.handshakesFailed += 1
    this.#options.hooks.onHandshakeFailed({ connection: entry.describe(this.name, nothingAgreed), reason })
  }

  /** Closes the socket; an arrival that has not failed is one that asked for nothing. */
  #dismiss(entry: Entry): void {
    if (entry.stage === 'arriving') this.#counters.withoutRequest += 1
    if (entry.stage !== 'served') entry.stage = 'ended'
    entry.raw.destroy()
  }

  #destroyAll(): void {
    for (const entry of this.#entries) {
      entry.served?.destroy()
      this.#dismiss(entry)
    }
  }
}
