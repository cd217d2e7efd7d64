// Makes one connection to one address: TCP or a Unix socket, a PROXY header, TLS. The only place that opens a socket to
// an endpoint. Used by dials, which bound the time and try the next address.
import { connect, isIP, type NetConnectOpts, type Socket } from 'node:net'
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { ByteWriter } from '../wire/byte-writer.js'
import type { Transport } from '../wire/client-connection.js'
import type { FailureCode } from '../wire/failure.js'
import { flushAtEndOfTurn } from '../wire/turn.js'
import type { Handshake, TlsClient } from './tls-client.js'
import { handshakeError } from './tls-verify.js'
import { connectError, isExhausted } from './transport-errors.js'

/** A connection that stands, with what its making has found out. */
export interface EstablishedTransport extends Transport {
  /** What both sides speak: what was configured, or what ALPN has chosen. */
  readonly protocol: 'http1' | 'h2'
  /** The literal address, or the path of the socket. */
  readonly address: string
}

/** One address, and what is to be made of a connection to it. */
export interface TransportOptions {
  readonly address: string
  /** Undefined: the address is the path of a Unix socket. */
  readonly port: number | undefined
  /** What is spoken without TLS; with it the handshake tells. */
  readonly protocol: 'http1' | 'h2'
  readonly tls: TlsClient | undefined
  /** Sent ahead of everything. */
  readonly proxyHeader: Buffer | undefined
}

/** Why a connection could not be made. */
export interface Obstacle {
  readonly code: Extract<FailureCode, 'upstream_unreachable' | 'upstream_tls'>
  /** In words, the address included. */
  readonly detail: string
  /** This process is out of something; no other address would help. */
  readonly isExhausted: boolean
  readonly cause: Error | undefined
}

/** Hears how the making of a connection ends: exactly one of the two, once, unless it was cancelled. */
export interface TransportObserver {
  onEstablished(transport: EstablishedTransport): void
  onObstacle(obstacle: Obstacle): void
}

// One buffer to read into and a copy of what came cost less than a buffer of 64 KiB for each read, cut to what came,
// and its way through a stream.
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)
const received = new ByteWriter()

/** A connection in the making; once it is established, a transport. */
export class PendingTransport implements EstablishedTransport {
  readonly address: string
  readonly #options: TransportOptions
  readonly #observer: TransportObserver
  readonly #handshake: Handshake | undefined
  #socket: Socket
  #protocol: 'http1' | 'h2'
  #isConnected = false
  #isSettled = false
  #error: Error | undefined

  constructor(options: TransportOptions, observer: TransportObserver) {
    this.#options = options
    this.#observer = observer
    this.address = options.address
    this.#protocol = options.protocol
    this.#handshake = options.tls?.beginHandshake(options.address)
    this.#socket = this.#open(this.#handshake)
    this.#socket.on('connect', () => this.#onConnect())
    this.#watch(this.#socket)
  }

  onBytes: (chunk: Buffer) => void = () => this.#socket.destroy()

  get socket(): Socket {
    return this.#socket
  }

  get protocol(): 'http1' | 'h2' {
    return this.#protocol
  }

  /** How far it has come, for the log. */
  get phase(): string {
    return this.#isConnected ? `in the TLS handshake with ${this.#place}` : `connecting to ${this.#place}`
  }

  /** Nobody waits for it any more; the observer hears nothing. */
  cancel(): void {
    if (this.#settle()) this.#socket.destroy()
  }

  /** The PROXY header leaves together with what the codec has said first. */
  flush(): void {
    this.#socket.uncork()
  }

  get #place(): string {
    const { address, port } = this.#options
    if (port === undefined) return address
    return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`
  }

  #open(handshake: Handshake | undefined): Socket {
    const onread = { buffer: readBuffer, callback: (bytes: number) => this.#onRead(bytes) }
    // TLS on a socket that is connected already, as a PROXY header needs it, cannot read into a buffer of ours.
    if (handshake === undefined) return connect({ ...this.#target(), onread })
    if (this.#options.proxyHeader !== undefined) return connect(this.#target())
    // The runtime's types do not know that TLS sockets take `onread` too (Node 20 to 26 do).
    const options: ConnectionOptions = Object.assign(this.#target(), handshake.options, { onread })
    return this.#secured(tlsConnect(options), handshake)
  }

  // Addresses are literal: nothing is resolved here, and `autoSelectFamily` would abort slow attempts after 250 ms.
  #target(): NetConnectOpts {
    const { address, port } = this.#options
    return port === undefined ? { path: address } : { host: address, port, noDelay: true, autoSelectFamily: false }
  }

  #watch(socket: Socket): void {
    socket.on('error', (error: Error) => {
      this.#error ??= error
      // A TLS socket that meets an error behind its handshake stays open, and says nothing more.
      socket.destroy()
    })
    socket.on('close', () => this.#fail())
  }

  #secured(socket: TLSSocket, handshake: Handshake): TLSSocket {
    return socket.on('secureConnect', () => this.#onSecured(socket, handshake))
  }

  #onConnect(): void {
    if (this.#isSettled) return
    this.#isConnected = true
    const header = this.#options.proxyHeader
    const handshake = this.#handshake
    if (header === undefined) {
      if (handshake === undefined) this.#establish()
    } else if (handshake === undefined) {
      this.#establishBehind(header)
    } else {
      this.#secureBehind(header, handshake)
    }
  }

  #establishBehind(header: Buffer): void {
    this.#socket.cork()
    this.#socket.write(header)
    this.#establish()
    flushAtEndOfTurn(this)
  }

  #secureBehind(header: Buffer, handshake: Handshake): void {
    const plain = this.#socket
    plain.write(header)
    const socket = this.#secured(tlsConnect({ ...handshake.options, socket: plain }), handshake)
    this.#socket = socket
    this.#watch(socket)
  }

  #onSecured(socket: TLSSocket, handshake: Handshake): void {
    if (this.#isSettled) return
    const outcome = handshake.judge(socket)
    if ('objection' in outcome) return this.#obstruct('upstream_tls', outcome.objection)
    this.#protocol = outcome.protocol
    if (this.#options.proxyHeader !== undefined) socket.on('data', (chunk: Buffer) => this.onBytes(chunk))
    this.#establish()
  }

  #establish(): void {
    if (this.#settle()) this.#observer.onEstablished(this)
  }

  #fail(): void {
    if (this.#isSettled) return
    if (!this.#isConnected) return this.#obstruct('upstream_unreachable', connectError(this.#error))
    this.#handshake?.onBroken()
    this.#obstruct('upstream_tls', handshakeError(this.#error))
  }

  #obstruct(code: Obstacle['code'], reason: string): void {
    if (!this.#settle()) return
    this.#socket.destroy()
    const detail = `${this.#place}: ${reason}`
    this.#observer.onObstacle({ code, detail, isExhausted: isExhausted(this.#error), cause: this.#error })
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    return true
  }

  /** Takes what stands in the buffer that all connections read into, before the next read overwrites it. */
  #onRead(bytes: number): boolean {
    received.reserve(bytes)
    received.copy(readBuffer, 0, bytes)
    this.onBytes(received.take())
    return true
  }
}
