// One request and its response from first to last: what is known of it, how it ends, and its line in the access log.
// Made by the handler for each request; `finish` runs once, always.
import type { RequestEntry } from '../telemetry/request-line.js'
import type { ClientVerdict } from '../tls/client-judgement.js'
import type { Attempt } from '../wire/attempt.js'
import { nowMs } from '../wire/deadlines.js'
import type { Downstream, ExchangeObserver, ResponseHead } from '../wire/downstream.js'
import type { Failure, FailureCode } from '../wire/failure.js'
import { type Answer, failureAnswer } from './answer.js'
import { clientAddressOf, type HeaderClaim } from './client-claims.js'
import { applyPolicy } from './header-policy.js'
import type { OpenTunnel, OpenTunnels } from './open-tunnels.js'
import { nextRequestId } from './request-id.js'
import type { ListenerView, VirtualHost } from './routing.js'

/** Takes a finished exchange's line. */
export interface AccessLog {
  request(entry: RequestEntry): void
}

/** The handler that an exchange belongs to. */
export interface ExchangeHome {
  readonly log: AccessLog
  readonly tunnels: OpenTunnels
  /** What the listener sees at this moment. */
  view(): ListenerView
  /** Why a tunnel would not be opened at this moment. */
  refusalOf(tunnel: Exchange): Failure | undefined
}

/** One exchange; it is its own entry in the access log. */
export class Exchange implements ExchangeObserver, RequestEntry, OpenTunnel {
  readonly downstream: Downstream
  readonly view: ListenerView
  readonly method: string
  readonly target: string
  readonly requestId = nextRequestId()
  readonly startedMs = nowMs()
  /** What is believed of the request's own headers; undefined where nothing is looked for, or believed. */
  claim: HeaderClaim | undefined
  host: string | null = null
  site: VirtualHost | undefined
  status: number | null = null
  reason: FailureCode | 'ok' = 'ok'
  detail: string | undefined
  upstream: string | null = null
  upstreamStatus: number | null = null
  upstreamMs: number | null = null
  durationMs: number | null = null
  headers: Readonly<Record<string, string>> | undefined
  failedAttempts: string[] | undefined
  /** What is known of the client where the site demands a certificate and the handshake asked for one. */
  client: ClientVerdict | undefined
  /** Whether the connection was opened under rules that hold no more: it ends with this answer. */
  isConnectionStale = false
  /** What is under way at an endpoint. */
  attempt: Attempt | undefined
  readonly #home: ExchangeHome
  #isTunnel = false
  #isFinished = false

  constructor(downstream: Downstream, home: ExchangeHome) {
    const view = home.view()
    this.downstream = downstream
    this.view = view
    this.#home = home
    this.method = downstream.request.method
    this.target = view.logQuery ? downstream.request.target : withoutQuery(downstream.request.target)
    this.headers = view.logHeaders.length === 0 ? undefined : loggedHeaders(downstream, view.logHeaders)
    downstream.observer = this
  }

  get listener(): string {
    return this.view.listener
  }

  get vhost(): string | null {
    return this.site === undefined ? null : this.site.id
  }

  get sni(): string | null {
    return this.downstream.connection.sni
  }

  get protocol(): 'http/1.1' | 'h2' {
    return this.downstream.request.protocol === 'h2' ? 'h2' : 'http/1.1'
  }

  get tlsVersion(): string | null {
    return this.downstream.connection.tlsVersion
  }

  get peer(): string {
    return this.downstream.connection.peer
  }

  get claimed(): string | null {
    return this.claim?.address ?? this.downstream.connection.claimed
  }

  get claimedBy(): string | null {
    return this.#isClaimedByHeader ? (this.claim?.by ?? null) : this.downstream.connection.claimedBy
  }

  get connectionClaimed(): string | undefined {
    return this.#isClaimedByHeader ? (this.downstream.connection.claimed ?? undefined) : undefined
  }

  get connectionClaimedBy(): string | undefined {
    return this.#isClaimedByHeader ? (this.downstream.connection.claimedBy ?? undefined) : undefined
  }

  get claimRefused(): string | undefined {
    return this.claim?.mistake
  }

  get #isClaimedByHeader(): boolean {
    return this.claim !== undefined && this.claim.address !== null
  }

  /** The client as far as anybody believed knows it. */
  get clientAddress(): string {
    return clientAddressOf(this.downstream.connection, this.claim)
  }

  /** How the client asked, as far as anybody believed knows it. */
  get scheme(): 'http' | 'https' {
    return this.claim?.scheme ?? (this.view.isSecure ? 'https' : 'http')
  }

  get clientCertificate(): RequestEntry['clientCertificate'] {
    return this.client?.certificate
  }

  get connectionId(): string {
    return this.downstream.connection.id
  }

  get generation(): number {
    return this.view.generation
  }

  get bytesReceived(): number {
    return this.downstream.bytesReceived
  }

  get bytesSent(): number {
    return this.downstream.bytesSent
  }

  /** Nobody waits for anything any more. */
  get isOver(): boolean {
    return this.#isFinished
  }

  /** Whether the final head has been sent. */
  get isAnswered(): boolean {
    return this.status !== null
  }

  /** The attempt at the endpoint that `upstream` names came to nothing, and there will be another one. */
  addFailedAttempt(reason: string): void {
    this.failedAttempts ??= []
    this.failedAttempts.push(`${this.upstream} ${reason}`)
  }

  /** It has become a tunnel, which may be ended when it would not be opened any more. */
  becomeTunnel(): void {
    if (this.#isFinished) return
    this.#isTunnel = true
    this.#home.tunnels.add(this)
  }

  refusalNow(): Failure | undefined {
    return this.#home.refusalOf(this)
  }

  /** Sends an answer of our own. */
  answer(answer: Answer): void {
    if (this.#isFinished) return
    this.status = answer.head.status
    this.applyResponsePolicy(answer.head)
    this.downstream.respond(answer.head, answer.body)
  }

  /** Ends the exchange with a failure: said with a status where that is still possible, visible as a broken answer otherwise. */
  fail(failure: Failure): void {
    if (this.#isFinished) return
    this.#tell(failure)
    if (this.isAnswered) this.downstream.reset(failure)
    else this.answer(failureAnswer(failure, this))
  }

  /** Does what the site wants of every final head. */
  applyResponsePolicy({ headers }: ResponseHead): void {
    const policy = this.site?.responseHeaders
    if (policy !== undefined) applyPolicy(headers, policy)
  }

  onSent(): void {
    this.#finish()
  }

  onBroken(failure: Failure): void {
    if (this.#isFinished) return
    this.#tell(failure)
    const attempt = this.attempt
    this.#finish()
    attempt?.cancel()
  }

  #tell({ code, detail }: Failure): void {
    this.reason = code
    this.detail = detail
  }

  #finish(): void {
    if (this.#isFinished) return
    this.#isFinished = true
    this.attempt = undefined
    if (this.#isTunnel) this.#home.tunnels.remove(this)
    this.durationMs = nowMs() - this.startedMs
    if (this.site === undefined ? this.view.access : this.site.access) this.#home.log.request(this)
  }
}

function withoutQuery(target: string): string {
  const query = target.indexOf('?')
  return query === -1 ? target : target.slice(0, query)
}

function loggedHeaders(downstream: Downstream, names: readonly string[]): Record<string, string> {
  const logged: Record<string, string> = {}
  for (const name of names) {
    const values = downstream.request.headers.valuesOf(name)
    if (values.length > 0) logged[name] = values.join(', ')
  }
  return logged
}
