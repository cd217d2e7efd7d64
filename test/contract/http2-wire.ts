// HTTP/2 as Node's own client speaks it, many exchanges at a time on one connection.

import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2'
import {
  type ClientWire,
  GrowingResponse,
  type Line,
  linesOf,
  type WireClient,
  type WireExchange,
  type WireRequest,
} from './client-wire.js'

/** The plug of HTTP/2. */
export const http2Wire: ClientWire = { name: 'h2', connect: (port) => new Http2Client(port) }

class Http2Client implements WireClient {
  readonly #session: ClientHttp2Session

  constructor(port: number) {
    this.#session = connect(`http://127.0.0.1:${port}`)
    this.#session.on('error', () => undefined)
  }

  request({ host, method = 'GET', target = '/', lines = [], body, trailers = [] }: WireRequest): WireExchange {
    const head = { ':method': method, ':path': target, ':authority': host, ...grouped(lines) }
    const stream = this.#session.request(head, { endStream: body === undefined, waitForTrailers: trailers.length > 0 })
    stream.on('error', () => undefined)
    stream.on('wantTrailers', () => stream.sendTrailers(grouped(trailers)))
    for (const piece of body ?? []) stream.write(piece, 'latin1')
    if (body !== undefined) stream.end()
    return {
      response: receive(stream),
      bodyBegun: once(stream, 'data').then(() => undefined),
      abandon: () => stream.close(constants.NGHTTP2_CANCEL),
    }
  }

  close(): void {
    this.#session.destroy()
  }
}

/** Lines by name, those of one name in a list. */
function grouped(lines: readonly Line[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {}
  for (const [name, value] of lines) {
    groups[name] ??= []
    groups[name].push(value)
  }
  return groups
}

async function receive(stream: ClientHttp2Stream): Promise<GrowingResponse> {
  const response = new GrowingResponse()
  stream.on('headers', (head: IncomingHttpHeaders, _flags: number, flat: string[]) =>
    response.informational.push({ status: Number(head[':status']), lines: withoutPseudo(flat) }),
  )
  stream.on('response', (head: IncomingHttpHeaders, _flags: number, flat: string[]) => {
    response.status = Number(head[':status'])
    response.lines = withoutPseudo(flat)
  })
  stream.on('trailers', (_head: IncomingHttpHeaders, _flags: number, flat: string[]) => {
    response.trailers = withoutPseudo(flat)
  })
  stream.on('data', (chunk: Buffer) => {
    response.body += chunk.toString('latin1')
  })
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve))
  response.isWhole = stream.rstCode === constants.NGHTTP2_NO_ERROR
  return response
}

function withoutPseudo(flat: readonly string[]): Line[] {
  return linesOf(flat).filter(([name]) => !name.startsWith(':'))
}
