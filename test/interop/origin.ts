// A service behind Hostward on Node's own HTTP server: tells who it is, counts what it gets, sends as much as is asked for.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** What the origin `name` answers to a plain GET for `host`. */
export function greeting(name: string, host: string): string {
  return `${name} for ${host}\n`
}

/** What `/echo` answers to a body. */
export function digest(body: Uint8Array): string {
  return `${body.length} ${createHash('sha256').update(body).digest('hex')}\n`
}

/** A running origin; close it at the end. */
export class Origin {
  readonly requests: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers'] }[] =
    []
  readonly #name: string
  readonly #server: Server

  private constructor(name: string) {
    this.#name = name
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  /** Opens an origin on a port of the system's choice. */
  static async open(name: string): Promise<Origin> {
    const origin = new Origin(name)
    // A test that fails before it can close must end all the same.
    origin.#server.unref().listen(0, '127.0.0.1')
    await once(origin.#server, 'listening')
    return origin
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    this.requests.push({ method, url, headers })
    const [, place, detail] = url.split('/')
    if (place === 'echo') return await echo(request, response)
    if (place === 'bytes') return await sendBytes(Number(detail), response)
    if (place === 'trailers') return sendTrailers(response)
    response.end(greeting(this.#name, headers.host ?? ''))
  }
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const hash = createHash('sha256')
  let length = 0
  for await (const chunk of request) {
    hash.update(chunk)
    length += chunk.length
  }
  const seen = request.trailers['x-trailer']
  if (seen !== undefined) response.setHeader('x-seen-trailer', seen)
  response.end(`${length} ${hash.digest('hex')}\n`)
}

async function sendBytes(count: number, response: ServerResponse): Promise<void> {
  response.setHeader('content-length', count)
  // A client that leaves ends the pipeline; the tests look at the client.
  await pipeline(Readable.from(pieces(count)), response).catch(() => undefined)
}

function* pieces(count: number): Generator<Buffer> {
  const piece = Buffer.alloc(65_536, 'hostward')
  for (let left = count; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length))
}

/** The bytes that `/bytes/COUNT` sends. */
export function bytesOf(count: number): Buffer {
  return Buffer.alloc(count, 'hostward')
}

function sendTrailers(response: ServerResponse): void {
  response.writeHead(200, { trailer: 'x-checked' })
  response.write('a body\n')
  response.addTrailers({ 'x-checked': 'yes' })
  response.end()
}
