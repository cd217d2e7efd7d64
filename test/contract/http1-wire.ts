// HTTP/1.1 as Node's own client speaks it, one exchange at a time on one connection.
import { once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import {
  type ClientWire,
  GrowingResponse,
  type Line,
  linesOf,
  type WireClient,
  type WireExchange,
  type WireRequest,
} from './client-wire.js'

/** The plug of HTTP/1.1. */
export const http1Wire: ClientWire = { name: 'http/1.1', connect: (port) => new Http1Client(port) }

class Http1Client implements WireClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  request(wanted: WireRequest): WireExchange {
    const { host, method = 'GET', target = '/', lines = [], body, trailers = [] } = wanted
    const isCounted = body === undefined || lines.some(([name]) => name === 'content-length')
    const request = openRequest({
      agent: this.#agent,
      host: '127.0.0.1',
      port: this.#port,
      method,
      path: target,
      headers: ['host', host, ...lines.flat(), ...(isCounted ? [] : ['transfer-encoding', 'chunked'])],
    })
    request.on('error', () => undefined)
    send(request, { body, trailers })
    const head = once(request, 'response')
    return {
      response: receive(request, head),
      bodyBegun: head.then(
        async ([message]: IncomingMessage[]) => void (await once(message as IncomingMessage, 'data')),
      ),
      abandon: () => request.destroy(),
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

function send(
  request: ClientRequest,
  { body, trailers }: { body: WireRequest['body'] | undefined; trailers: readonly Line[] },
): void {
  for (const piece of body ?? []) request.write(piece, 'latin1')
  if (trailers.length > 0) request.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]))
  request.end()
}

async function receive(request: ClientRequest, head: Promise<unknown[]>): Promise<GrowingResponse> {
  const response = new GrowingResponse()
  request.on('information', ({ statusCode, rawHeaders }) =>
    response.informational.push({ status: statusCode, lines: linesOf(rawHeaders) }),
  )
  const [message] = (await head) as [IncomingMessage]
  response.status = message.statusCode ?? 0
  response.lines = linesOf(message.rawHeaders)
  message.on('data', (chunk: Buffer) => {
    response.body += chunk.toString('latin1')
  })
  message.on('error', () => undefined)
  await new Promise((resolve) => message.once('close', resolve))
  response.trailers = linesOf(message.rawTrailers)
  response.isWhole = message.complete
  return response
}
