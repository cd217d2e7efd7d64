// The attempts of one exchange at the endpoints of its upstream: hears how each one ends, and tries again where that cannot
// execute a request twice. Made by forwarding for each request.
import type { ConnectionChoice } from '../upstream/connection-pool.js'
import type { Endpoint } from '../upstream/endpoint.js'
import type { AttemptObserver, Tunnel } from '../wire/attempt.js'
import { type BodySource, unknownLength } from '../wire/body.js'
import { nowMs } from '../wire/deadlines.js'
import type { ResponseHead } from '../wire/downstream.js'
import { Failure } from '../wire/failure.js'
import { Field } from '../wire/field-names.js'
import { reasonPhrase } from '../wire/status.js'
import type { Exchange } from './exchange.js'
import { prepareResponse } from './headers.js'
import type { ForwardedRequest } from './outgoing-request.js'
import type { BodyObserver } from './request-body.js'
import { isIdempotent, type RetryCause } from './retry.js'

const noEndpoint = new Failure('no_endpoint', 'no endpoint of the upstream is available')
const notProved = new Failure('upstream_protocol', 'the endpoint did not answer the key of the WebSocket handshake')
const notSwitched = new Failure('upstream_protocol', 'the endpoint answered a CONNECT without switching protocols')
const noneTried: readonly Endpoint[] = []

/** One exchange on its way. */
export class Forwarding implements AttemptObserver, BodyObserver {
  readonly #exchange: Exchange
  readonly #request: ForwardedRequest
  readonly #startedMs = nowMs()
  #endpoint: Endpoint | undefined
  #tried = noneTried
  #attempts = 0
  #freeAttempts = 0
  #isHeard = false

  constructor(exchange: Exchange, request: ForwardedRequest) {
    this.#exchange = exchange
    this.#request = request
  }

  /** Makes the first attempt. */
  start(): void {
    if (this.#exchange.isOver) return
    const { action, hash } = this.#request
    action.retries.budget.earn()
    const endpoint = action.upstream.choose(hash, noneTried)
    if (endpoint === undefined) this.#exchange.fail(noEndpoint)
    else this.#attempt(endpoint, 'pooled')
  }

  onBodyReady(): void {
    this.start()
  }

  onBodyBroken(failure: Failure): void {
    this.#exchange.fail(failure)
  }

  onInformational(head: ResponseHead): void {
    this.#isHeard = true
    prepareResponse(head)
    this.#exchange.downstream.inform(head)
  }

  onResponse(head: ResponseHead, body: BodySource | undefined): void {
    const exchange = this.#exchange
    if (head.status >= 500 && this.#leaves(head.status, body)) return
    // RFC 9110 §9.3.6: to a CONNECT such an answer would say that there is a tunnel.
    if (head.status < 300 && exchange.method === 'CONNECT') return this.#giveUp(notSwitched)
    if (body?.lengthBytes !== unknownLength) head.headers.dropAll(Field.trailer)
    this.#onFinalHead(head, head.status)
    exchange.downstream.respond(head, body)
  }

  onUpgrade(head: ResponseHead, tunnel: Tunnel): void {
    const exchange = this.#exchange
    const { downstream } = exchange
    if (this.#request.webSocket?.complete(head) === false) return this.#giveUp(notProved)
    const status = downstream.request.protocol === 'h2' ? 200 : 101
    this.#onFinalHead(head, status)
    const own = { status, reason: reasonPhrase(status), headers: head.headers }
    tunnel.carry(downstream.switchProtocols(own, tunnel.source))
    exchange.becomeTunnel()
  }

  onFailure(failure: Failure): void {
    if (this.#retry(failure)) return
    this.#request.body?.release()
    this.#exchange.fail(failure)
  }

  /** The head that is passed on, with the status that the client gets. */
  #onFinalHead(head: ResponseHead, status: number): void {
    const exchange = this.#exchange
    this.#request.body?.release()
    exchange.upstreamMs = nowMs() - this.#startedMs
    exchange.upstreamStatus = head.status
    exchange.status = status
    prepareResponse(head)
    exchange.applyResponsePolicy(head)
  }

  /** What the endpoint says is of no use. */
  #giveUp(failure: Failure): void {
    this.#exchange.attempt?.cancel()
    this.#exchange.fail(failure)
  }

  /** Whether nothing was said to the client and nothing of the request is gone, so that all of it can be done anew. */
  get #isRepeatable(): boolean {
    return !this.#isHeard && this.#request.body?.isConsumed !== true
  }

  /** Whether an answer with `status` was given up for that of another endpoint. */
  #leaves(status: number, body: BodySource | undefined): boolean {
    const { action, method } = this.#request
    if (!action.retries.causes.has(status) || !this.#isRepeatable || !isIdempotent(method)) return false
    const endpoint = this.#another(status)
    if (endpoint === undefined) return false
    if (body !== undefined) this.#exchange.attempt?.cancel()
    this.#attemptAgain(endpoint, { reason: String(status), choice: 'pooled' })
    return true
  }

  #retry(failure: Failure): boolean {
    if (failure.retry === 'never' || !this.#isRepeatable) return false
    if (failure.retry === 'if_idempotent' && !isIdempotent(this.#request.method)) return false
    if (failure.suspect === 'connection' && this.#retryFresh(failure)) return true
    const endpoint = this.#another(failure.retry === 'always' ? 'connect' : 'reset')
    if (endpoint === undefined) return false
    this.#attemptAgain(endpoint, { reason: failure.code, choice: 'pooled' })
    return true
  }

  // A connection was closed while it was idle, and nobody knew. That counts neither as an attempt nor against the budget, or a
  // restarted endpoint would cost requests that others could take: it happens to a request once.
  #retryFresh(failure: Failure): boolean {
    if (this.#endpoint === undefined || this.#freeAttempts > 0 || this.#request.action.retries.attemptsMax === 1)
      return false
    this.#freeAttempts++
    this.#attemptAgain(this.#endpoint, { reason: failure.code, choice: 'fresh' })
    return true
  }

  /** An endpoint that was not tried yet; undefined where there is none, or no more attempts are allowed. */
  #another(cause: RetryCause): Endpoint | undefined {
    const { action, hash } = this.#request
    const { retries, upstream } = action
    if (this.#attempts - this.#freeAttempts >= retries.attemptsMax || !retries.causes.has(cause)) return undefined
    if (this.#endpoint !== undefined) this.#tried = [...this.#tried, this.#endpoint]
    const endpoint = upstream.choose(hash, this.#tried)
    return endpoint !== undefined && retries.budget.spend(nowMs()) ? endpoint : undefined
  }

  #attemptAgain(endpoint: Endpoint, { reason, choice }: { reason: string; choice: ConnectionChoice }): void {
    this.#exchange.addFailedAttempt(reason)
    this.#attempt(endpoint, choice)
  }

  #attempt(endpoint: Endpoint, choice: ConnectionChoice): void {
    const number = ++this.#attempts
    this.#endpoint = endpoint
    this.#exchange.upstream = endpoint.label
    const attempt = endpoint.send(this.#request, this, choice, this.#request.client)
    // One that failed at once has been followed by another by now.
    if (number === this.#attempts) this.#exchange.attempt = attempt
  }
}
