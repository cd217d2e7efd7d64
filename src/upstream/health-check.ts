// Asks one endpoint again and again whether it is well, spread over time so that many checks never come at once.
// Owned by an endpoint; stopped with it.
import type { OutgoingRequest } from '../wire/attempt.js'
import { deadlines, nowMs, type Timed } from '../wire/deadlines.js'
import { HeaderBlock } from '../wire/header-block.js'
import { type CheckConnector, CheckExchange, type StatusRange } from './check-exchange.js'
import type { CheckedHealth } from './checked-health.js'

/** How an endpoint is checked. */
export interface HealthCheckOptions {
  /** Target of the request. */
  readonly path: string
  /** Host of the request. */
  readonly host: string
  readonly scheme: 'http' | 'https'
  /** Statuses of a healthy endpoint. */
  readonly expect: readonly StatusRange[]
  readonly intervalMs: number
  /** For a whole check. */
  readonly timeoutMs: number
  readonly rise: number
  readonly fall: number
}

/** What a health check is made of. */
export interface HealthCheckParts {
  readonly options: HealthCheckOptions
  readonly connector: CheckConnector
  /** Keeps the state, which outlives a change of the options. */
  readonly health: CheckedHealth
  /** Hears of each change: what is wrong with the endpoint now, undefined where nothing is. */
  readonly onChange: (wrong: string | undefined) => void
  /** Numbers from 0 up to but not including 1. */
  readonly random: () => number
}

/** The checks of one endpoint. */
export class HealthCheck implements Timed {
  deadlineMs: number
  readonly #parts: HealthCheckParts
  readonly #request: OutgoingRequest
  #exchange: CheckExchange | undefined

  /** The first check comes at any time of the first interval: not all of them at a start. */
  constructor(parts: HealthCheckParts) {
    this.#parts = parts
    this.#request = requestOf(parts.options)
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

function requestOf({ path, host, scheme }: HealthCheckOptions): OutgoingRequest {
  const headers = new HeaderBlock()
  headers.add('user-agent', 'hostward-health-check')
  headers.add('accept', '*/*')
  const lines = ['user-agent: hostward-health-check', 'accept: */*', 'connection: close']
  const head = [`GET ${path} HTTP/1.1`, `host: ${host}`, ...lines, '', ''].join('\r\n')
  return {
    method: 'GET',
    head: Buffer.from(head, 'latin1'),
    fields: { scheme, authority: host, path, headers },
    body: undefined,
    upgrade: undefined,
  }
}
