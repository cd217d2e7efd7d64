// HTTP/2 as Node's own client speaks it, many exchanges at a time on one connection.

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
  type Transport,
  type WireClient,
  type WireExchange,
  type WireRequest,
} from './client-wire.js'

/** The plug of HTTP/2. */
export const http2Wire: ClientWire = { name: 'h2', connect: (port, over) => new Http2Client(port, over) }

class Http2Client implements WireClient {
  readonly #session: ClientHttp2Session

  constructor(port: number, over: Transport = 'tcp') {
    const scheme = over === 'tls' ? 'https' : 'http'
    this.#session = connect(`${scheme}://127.0.0.1:${port}`, { rejectUnauthorized: false })
    this.#session.on('error', () => undefined)
  }

  request(wanted: WireRequest): WireExchange {
    const { host, method = 'GET', target = '/', lines = [], body, trailers = [] } = wanted
    const head = { ':method': method, ':path': target, ':authority': host, ...grouped(lines) }
    const stream = this.#session.request(head, { endStream: body === undefined, waitForTrailers: trailers.length > 0 })
    stream.on('error', () => undefined)
    stream.on('wantTrailers', () => stream.sendTrailers(grouped(trailers)))
    for (const piece of body ?? []) stream.write(piece, 'latin1')
    if (body !== undefined && wanted.isOpenEnded !== true) stream.end()
    const response = new GrowingResponse()
    return {
      response: receive(stream, response, wanted),
      continued: new Promise((resolve) => stream.once('continue', resolve)),
      bodyBegun: response.bodyBegun,
      finish: (lastPiece) => void stream.end(lastPiece, 'latin1'),
      resume: () => take(stream, response),
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

async function receive(
  stream: ClientHttp2Stream,
  response: GrowingResponse,
  { isPaused = false }: WireRequest,
): Promise<GrowingResponse> {
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
  if (!isPaused) take(stream, response)
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve))
  response.isWhole = stream.rstCode === constants.NGHTTP2_NO_ERROR
  return response
}

function take(stream: ClientHttp2Stream, response: GrowingResponse): void {
  stream.on('data', (chunk: Buffer) => response.take(chunk))
}

function withoutPseudo(flat: readonly string[]): Line[] {
  return linesOf(flat).filter(([name]) => !name.startsWith(':'))
}
