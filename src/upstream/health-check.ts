// Asks one endpoint again and again whether it is well, spread over time so that many checks never come at once.
// Owned by an endpoint; stopped with it.
import type { OutgoingRequest } from '../wire/attempt.js'
import { ByteWriter } from '../wire/byte-writer.js'
import { deadlines, nowMs, type Timed } from '../wire/deadlines.js'
import { HeaderBlock } from '../wire/header-block.js'
import { type CheckConnector, CheckExchange, type StatusRange } from './check-exchange.js'
import type { CheckedHealth } from './checked-health.js'

/** How an endpoint is checked. */
export interface HealthCheckOptions {
  /** Target of the request. */
  readonly path: string
  /** Host of the request; undefined is the endpoint's own. */
  readonly host: string | undefined
  /** Statuses of a healthy endpoint. */
  readonly expect: readonly StatusRange[]
  readonly intervalMs: number
  /** For a whole check. */
  readonly timeoutMs: number
  readonly rise: number
  readonly fall: number
}

/** Whom the request is for where the options do not say it. */
export interface CheckedOrigin {
  readonly scheme: 'http' | 'https'
  /** As a Host line has it. */
  readonly host: string
}

/** What a health check is made of. */
export interface HealthCheckParts {
  readonly options: HealthCheckOptions
  readonly connector: CheckConnector
  readonly origin: CheckedOrigin
  /** Keeps the state, which outlives a change of the options. */
  readonly health: CheckedHealth
  /** Hears of each change: what is wrong with the endpoint now, undefined where nothing is. */
  readonly onChange: (wrong: string | undefined) => void
  /** Numbers from 0 up to but not including 1. */
  readonly random: () => number
}

const fieldsOfChecks = [
  ['user-agent', 'hostward-health-check'],
  ['accept', '*/*'],
] as const

/** The checks of one endpoint. */
export class HealthCheck implements Timed {
  deadlineMs: number
  readonly #parts: HealthCheckParts
  readonly #request: OutgoingRequest
  #exchange: CheckExchange | undefined

  /** The first check comes at any time of the first interval: not all of them at a start. */
  constructor(parts: HealthCheckParts) {
    this.#parts = parts
    this.#request = requestOf(parts)
    this.deadlineMs = nowMs() + parts.random() * parts.options.intervalMs
    deadlines.watch(this)
  }

  /** No more checks; one under way is given up. */
  stop(): void {
    deadlines.forget(this)
    this.#exchange?.cancel()
    this.#exchange = undefined
  }

  onDeadline(): void {
    const { connector, options } = this.#parts
    const { timeoutMs, expect } = options
    if (this.#exchange !== undefined) {
      this.#exchange.cancel()
      return this.#take(`not done within ${timeoutMs} ms`)
    }
    this.deadlineMs = nowMs() + timeoutMs
    const onVerdict = (wrong: string | undefined): void => this.#take(wrong)
    this.#exchange = new CheckExchange({ connector, request: this.#request, expect, onVerdict })
  }

  #take(wrong: string | undefined): void {
    const { health, options, onChange, random } = this.#parts
    this.#exchange = undefined
    this.deadlineMs = nowMs() + jittered(options.intervalMs, random())
    if (health.take(wrong === undefined, options)) onChange(wrong)
  }
}

/** An interval spread by a tenth to both sides; `random` is from 0 up to 1. */
export function jittered(intervalMs: number, random: number): number {
  return intervalMs * (0.9 + 0.2 * random)
}

function requestOf({ options, origin }: HealthCheckParts): OutgoingRequest {
  const { path, host = origin.host } = options
  const headers = new HeaderBlock()
  for (const [name, value] of fieldsOfChecks) headers.add(name, value)
  const out = new ByteWriter()
  out.reserve(headers.writtenBytesMax + path.length + host.length + 64)
  out.text(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n`)
  headers.writeLines(out)
  out.crlf()
  return {
    method: 'GET',
    head: out.take(),
    fields: { scheme: origin.scheme, authority: host, path, headers },
    body: undefined,
    upgrade: undefined,
  }
}
