// HTTP/1.1 as Node's own client speaks it, one exchange at a time on one connection.
import { once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import { request as openTlsRequest, Agent as TlsAgent } from 'node:https'
import {
  type ClientWire,
  GrowingResponse,
  linesOf,
  type Transport,
  type WireClient,
  type WireExchange,
  type WireRequest,
} from './client-wire.js'

/** The plug of HTTP/1.1. */
export const http1Wire: ClientWire = { name: 'http/1.1', connect: (port, over) => new Http1Client(port, over) }

class Http1Client implements WireClient {
  readonly #agent: Agent
  readonly #open: typeof openRequest
  readonly #port: number

  constructor(port: number, over: Transport = 'tcp') {
    const kept = { keepAlive: true, maxSockets: 1 }
    this.#agent = over === 'tls' ? new TlsAgent({ ...kept, rejectUnauthorized: false }) : new Agent(kept)
    this.#open = over === 'tls' ? openTlsRequest : openRequest
    this.#port = port
  }

  request(wanted: WireRequest): WireExchange {
    const { host, method = 'GET', target = '/', lines = [], body } = wanted
    const isCounted = body === undefined || lines.some(([name]) => name === 'content-length')
    const request = this.#open({
      agent: this.#agent,
      host: '127.0.0.1',
      port: this.#port,
      method,
      path: target,
      maxHeaderSize: 65_536,
      headers: ['host', host, ...lines.flat(), ...(isCounted ? [] : ['transfer-encoding', 'chunked'])],
    })
    request.on('error', () => undefined)
    send(request, wanted)
    const response = new GrowingResponse()
    const head = once(request, 'response') as Promise<[IncomingMessage]>
    return {
      response: receive(request, { response, head, isPaused: wanted.isPaused ?? false }),
      continued: new Promise((resolve) => request.once('continue', resolve)),
      bodyBegun: response.bodyBegun,
      finish: (lastPiece) => void request.end(lastPiece, 'latin1'),
      resume: () => void head.then(([message]) => take(message, response)),
      abandon: () => request.destroy(),
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

function send(request: ClientRequest, { body, trailers = [], isOpenEnded = false }: WireRequest): void {
  for (const piece of body ?? []) request.write(piece, 'latin1')
  if (trailers.length > 0) request.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]))
  if (isOpenEnded) request.flushHeaders()
  else request.end()
}

interface Awaited {
  readonly response: GrowingResponse
  readonly head: Promise<[IncomingMessage]>
  readonly isPaused: boolean
}

async function receive(request: ClientRequest, { response, head, isPaused }: Awaited): Promise<GrowingResponse> {
  request.on('information', ({ statusCode, rawHeaders }) =>
    response.informational.push({ status: statusCode, lines: linesOf(rawHeaders) }),
  )
  const [message] = await head
  response.status = message.statusCode ?? 0
  response.lines = linesOf(message.rawHeaders)
  message.on('error', () => undefined)
  if (!isPaused) take(message, response)
  await new Promise((resolve) => message.once('close', resolve))
  response.trailers = linesOf(message.rawTrailers)
  response.isWhole = message.complete
  return response
}

function take(message: IncomingMessage, response: GrowingResponse): void {
  message.on('data', (chunk: Buffer) => response.take(chunk))
}
