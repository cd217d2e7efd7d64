// A gRPC service whose messages are bytes, and what stands in front of it: Hostward's handler over TLS and HTTP/2.
import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'
import { forwardToEndpoint, Gateway } from '../support/gateway.js'
import { trusting } from '../support/trust.js'

/** A call as a server has it, whatever its kind. */
export type Pass = (bytes: Buffer) => Buffer

/** Messages are what they are. */
export const pass: Pass = (bytes) => bytes

const serverName = 'grpc.example'
const authority = makeAuthority()

function method(name: string, requestStream: boolean, responseStream: boolean) {
  const messages = {
    requestSerialize: pass,
    requestDeserialize: pass,
    responseSerialize: pass,
    responseDeserialize: pass,
  }
  return { path: `/test.Echo/${name}`, requestStream, responseStream, ...messages }
}

/** One method of each kind. */
export const definition: ServiceDefinition = {
  Unary: method('Unary', false, false),
  Upload: method('Upload', true, false),
  Download: method('Download', false, true),
  Chat: method('Chat', true, true),
}

/** How the service is reached: prior knowledge, or TLS. */
export type Reach = 'h2c' | 'TLS'

/** The service behind a gateway, and clients of it; close it at the end. */
export class GrpcStage {
  readonly gateway: Gateway
  readonly #server: Server
  readonly #clients: Client[] = []
  readonly #root: Buffer
  readonly #port: number

  private constructor(parts: { gateway: Gateway; server: Server; root: Buffer; port: number }) {
    this.gateway = parts.gateway
    this.#server = parts.server
    this.#root = parts.root
    this.#port = parts.port
  }

  static async open(reach: Reach, implementation: UntypedServiceImplementation): Promise<GrpcStage> {
    const issuer = await authority
    const { chain, key } = await makeCertificate({ names: [serverName], issuer })
    const server = new Server({ 'grpc.max_receive_message_length': -1 })
    server.addService(definition, implementation)
    const pair = { cert_chain: Buffer.from(chain), private_key: Buffer.from(key) }
    const port = await bound(server, reach === 'h2c' ? ServerCredentials.createInsecure() : tlsOf(pair))
    const address = { kind: 'tcp', host: '127.0.0.1', port, tls: reach === 'TLS' } as const
    const trust = reach === 'TLS' ? { tls: trusting(issuer.cert), serverName } : {}
    const action = forwardToEndpoint({ address, protocol: 'h2', ...trust })
    const gateway = await new Gateway({
      sites: { [serverName]: action },
      protocol: 'h2',
      tls: { cert: chain, key },
    }).open()
    return new GrpcStage({ gateway, server, root: Buffer.from(issuer.cert), port })
  }

  /** A client with a connection of its own. */
  client(options: Readonly<Record<string, string | number>> = {}): Client {
    const client = new Client(`127.0.0.1:${this.gateway.port}`, credentials.createSsl(this.#root), {
      'grpc.ssl_target_name_override': serverName,
      'grpc.default_authority': serverName,
      'grpc.max_receive_message_length': -1,
      'grpc.use_local_subchannel_pool': 1,
      ...options,
    })
    this.#clients.push(client)
    return client
  }

  /** The service says goodbye (GOAWAY) on its connections, and takes calls on new ones. */
  sendAway(): void {
    this.#server.drain(`127.0.0.1:${this.#port}`, graceMs)
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close()
    this.#server.forceShutdown()
    await this.gateway.close()
  }
}

const graceMs = 60_000

function bound(server: Server, secrets: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secrets, (error, port) => (error === null ? resolve(port) : reject(error)))
  })
}

function tlsOf(pair: { cert_chain: Buffer; private_key: Buffer }): ServerCredentials {
  return ServerCredentials.createSsl(null, [pair])
}
