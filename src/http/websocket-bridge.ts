// The handshake of WebSocket where the wires differ: HTTP/1 proves with a key that the endpoint has understood (RFC 6455 §4),
// HTTP/2 needs none (RFC 8441 §5). Used by forwarding; each side gets the proof that its own wire asks for.
import { createHash, randomBytes } from 'node:crypto'
import type { ResponseHead } from '../wire/downstream.js'
import type { HeaderBlock } from '../wire/header-block.js'

/** RFC 6455 §1.3. */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

const keyName = 'sec-websocket-key'
const acceptName = 'sec-websocket-accept'

/** One handshake. */
export class WebSocketBridge {
  readonly #isOurs: boolean
  readonly #key: string

  /** Takes the key of a client's HTTP/1 handshake, or makes one for a client that has none. */
  constructor(headers: HeaderBlock, wire: 'http/1' | 'h2') {
    this.#isOurs = wire === 'h2'
    this.#key = this.#isOurs ? randomBytes(16).toString('base64') : (headers.valuesOf(keyName)[0] ?? '')
    if (this.#isOurs) dropLines(headers, keyName)
  }

  /** Adds what an HTTP/1 endpoint asks for. */
  prepareHttp1(headers: HeaderBlock): void {
    if (this.#isOurs) headers.add(keyName, this.#key)
  }

  /** Leaves out what an HTTP/2 endpoint has no use for. */
  prepareHttp2(headers: HeaderBlock): void {
    dropLines(headers, keyName)
  }

  /** Turns the endpoint's agreement into one for the client; false where it does not prove that the endpoint means WebSocket. */
  complete({ status, headers }: ResponseHead): boolean {
    if (status === 101 && this.#isOurs) {
      const accepted = headers.valuesOf(acceptName)
      dropLines(headers, acceptName)
      return accepted.length === 1 && accepted[0] === acceptOf(this.#key)
    }
    if (status !== 101 && !this.#isOurs) headers.add(acceptName, acceptOf(this.#key))
    return true
  }
}

/** What an endpoint answers to a key (RFC 6455 §4.2.2). */
export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}${acceptSuffix}`, 'latin1').digest('base64')
}

function dropLines(headers: HeaderBlock, name: string): void {
  for (let index = 0; index < headers.count; index++) if (headers.isNamed(index, name)) headers.drop(index)
}
