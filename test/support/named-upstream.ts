// An upstream that says who it is, so that a body tells whether it came from the right place.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A running upstream; close it at the end. */
export class NamedUpstream {
  readonly name: string
  /** Every Host that a request named, as it was named. */
  readonly hosts = new Set<string>()
  openConnections = 0
  readonly #server: Server

  constructor(name: string) {
    this.name = name
    this.#server = createServer((request, response) => {
      this.hosts.add(request.headers.host ?? '')
      response.end(this.bodyFor(request.url ?? ''))
    })
    this.#server.keepAliveTimeout = 60_000
    this.#server.on('connection', (socket) => {
      this.openConnections += 1
      socket.on('close', () => {
        this.openConnections -= 1
      })
    })
  }

  static async open(name: string): Promise<NamedUpstream> {
    const upstream = new NamedUpstream(name)
    upstream.#server.listen(0, '127.0.0.1')
    await once(upstream.#server, 'listening')
    return upstream
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** What it answers to a path. */
  bodyFor(path: string): string {
    return `${this.name} answers ${path}\n`
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}
