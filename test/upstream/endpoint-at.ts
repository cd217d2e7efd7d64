// Endpoints under test, and requests to send to them; a test says only what it is about.
import { Endpoint } from '../../src/upstream/endpoint.js'
import type { EndpointObserver, EndpointOptions } from '../../src/upstream/endpoint-options.js'
import type { Attempt, AttemptObserver, OutgoingRequest, Tunnel } from '../../src/wire/attempt.js'
import type { BodySink, BodySource } from '../../src/wire/body.js'
import type { ResponseHead } from '../../src/wire/downstream.js'
import type { Failure } from '../../src/wire/failure.js'
import { HeaderBlock } from '../../src/wire/header-block.js'
import { until } from '../support/deadline.js'

/** Settings that no test reaches by accident. */
export const calmSettings = {
  timeouts: { connectMs: 15_000, responseMs: 60_000, bodyIdleMs: 60_000, idleMs: 60_000, tunnelIdleMs: 60_000 },
  limits: { headerBytes: 65_536, headerCount: 256 },
}

/** An endpoint on the loopback; nothing is dialled before something is sent. */
export function endpointAt(port: number, more: Partial<EndpointOptions> = {}): Endpoint {
  return new Endpoint({
    address: loopback(port),
    label: `http://127.0.0.1:${port}`,
    ...calmSettings,
    ...more,
  })
}

/** An address on the loopback. */
export function loopback(port: number): EndpointOptions['address'] {
  return { kind: 'tcp', host: '127.0.0.1', port, tls: false }
}

/** Endpoints that nobody dials, by name. */
export function namedEndpoints(...names: readonly string[]): Endpoint[] {
  return names.map((label) => endpointAt(1, { label }))
}

/** A request without a body. */
export function get(path = '/'): OutgoingRequest {
  const head = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: a.example\r\n\r\n`)
  const fields = { scheme: 'http', authority: 'a.example', path, headers: new HeaderBlock() } as const
  return { method: 'GET', head, fields, body: undefined, upgrade: undefined }
}

/** What became of one attempt: a status, a failure, or nothing yet. */
export class Outcome implements AttemptObserver, BodySink {
  status: number | undefined
  failure: Failure | undefined
  body = ''
  isComplete = false

  onInformational(): void {}

  onResponse(head: ResponseHead, body: BodySource | undefined): void {
    this.status = head.status
    if (body === undefined) this.isComplete = true
    else body.flow(this)
  }

  onUpgrade(head: ResponseHead, tunnel: Tunnel): void {
    this.status = head.status
    tunnel.source.flow(this)
  }

  onFailure(failure: Failure): void {
    this.failure = failure
  }

  write(chunk: Buffer): boolean {
    this.body += chunk.toString('latin1')
    return true
  }

  end(): void {
    this.isComplete = true
  }

  abort(failure: Failure): void {
    this.failure = failure
  }

  /** Waits for the whole answer, or the failure. */
  async settled(): Promise<this> {
    await until('an attempt is over', () => this.isComplete || this.failure !== undefined)
    return this
  }
}

/** Hears of changes of health, and writes them down. */
export function observerOf(log: string[]): EndpointObserver {
  return {
    onDown: ({ label }, { by, detail }) => log.push(`${label} down by ${by}: ${detail}`),
    onUp: ({ label }, { by, detail }) => log.push(`${label} up by ${by}: ${detail}`),
  }
}

/** An attempt that was sent, with what becomes of it. */
export interface Sent extends Outcome {
  readonly attempt: Attempt
}

/** Sends a request. */
export function send(
  endpoint: Endpoint,
  request = get(),
  ...more: Parameters<Endpoint['send']> extends [unknown, unknown, ...infer Rest] ? Partial<Rest> : never
): Sent {
  const [choice = 'pooled', client] = more
  const outcome = new Outcome()
  return Object.assign(outcome, { attempt: endpoint.send(request, outcome, choice, client) })
}
