// One downstream wire, one endpoint wire and a gateway between them; the listener of the endpoint is each test's own.
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { makeCertificate } from '../support/certificates.js'
import { within } from '../support/deadline.js'
import { Gateway } from '../support/gateway.js'
import type { ClientWire, Transport, WireClient, WireExchange, WireRequest, WireResponse } from './client-wire.js'
import type { EndpointListener, EndpointWire, OpenEndpoint } from './endpoint-wire.js'
import { http1Wire } from './http1-wire.js'
import { http2Wire } from './http2-wire.js'

/** The wire of clients and what it runs over. */
export interface Downstream {
  readonly wire: ClientWire
  readonly over: Transport
}

/** Every wire of clients, plain and over TLS. */
export const downstreams: readonly Downstream[] = [http1Wire, http2Wire].flatMap((wire) =>
  (['tcp', 'tls'] as const).map((over) => ({ wire, over })),
)

const certificate = makeCertificate({ names: ['a.example'] })

/** What is true of every pairing, by the sentence that says it. */
export type Stories = Readonly<Record<string, (pairing: Pairing) => Promise<void>>>

/** A gateway between a client and an endpoint; close it at the end. */
export class Pairing {
  readonly endpointWire: EndpointWire
  readonly clientWire: ClientWire
  readonly #over: Transport
  readonly #endpoint: OpenEndpoint
  readonly #gateway: Gateway
  #client: WireClient
  /** What the endpoint does with each request. */
  listener: EndpointListener = (_, response) => void response.end('ok')

  private constructor(parts: { downstream: Downstream; endpointWire: EndpointWire; open: Opened }) {
    this.clientWire = parts.downstream.wire
    this.endpointWire = parts.endpointWire
    this.#over = parts.downstream.over
    this.#endpoint = parts.open.endpoint
    this.#gateway = parts.open.gateway
    this.#client = this.#connect()
  }

  static async open(downstream: Downstream, endpointWire: EndpointWire): Promise<Pairing> {
    let listener: EndpointListener = () => undefined
    const endpoint = await endpointWire.open((request, response) => listener(request, response))
    const { wire, over } = downstream
    const tls = over === 'tls' ? { tls: await certificate } : {}
    const gateway = await new Gateway({ sites: { 'a.example': endpoint.action }, protocol: wire.name, ...tls }).open()
    const pairing = new Pairing({ downstream, endpointWire, open: { endpoint, gateway } })
    listener = (request, response) => pairing.#serve(request, response)
    return pairing
  }

  /** The access log. */
  get entries(): Gateway['entries'] {
    return this.#gateway.entries
  }

  request(wanted: Partial<WireRequest> = {}): WireExchange {
    return this.#client.request({ host: 'a.example', ...wanted })
  }

  async ask(wanted: Partial<WireRequest> = {}): Promise<WireResponse> {
    return await within(`an answer to ${JSON.stringify(wanted).slice(0, 200)}`, this.request(wanted).response)
  }

  /** The client's connection ends, whatever is under way. */
  breakOff(): void {
    this.#client.close()
  }

  /** A request on a connection of its own is answered: nothing has taken harm. */
  async goesOn(): Promise<void> {
    this.#client.close()
    this.#client = this.#connect()
    this.listener = (_, response) => void response.end('next')
    assert.equal((await this.ask()).body, 'next')
  }

  async close(): Promise<void> {
    this.#client.close()
    await this.#gateway.close()
    await this.#endpoint.close()
  }

  #connect(): WireClient {
    return this.clientWire.connect(this.#gateway.port, this.#over)
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    // Ends of all kinds are part of the tests; 'close' tells of them.
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    this.listener(request, response)
  }
}

interface Opened {
  readonly endpoint: OpenEndpoint
  readonly gateway: Gateway
}

/** The whole body of a request as an endpoint got it, one character a byte. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += (chunk as Buffer).toString('latin1')
  return body
}
