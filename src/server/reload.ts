// From a change on disk to a snapshot that serves, one load at a time; says in the log what came of it.
// Owned by the server; a load that fails leaves everything as it is, and certificates are renewed all the same.
import type { Config } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import { FileWatch } from '../files/file-watch.js'
import { Slices } from '../files/slices.js'
import type { Log } from '../telemetry/log.js'
import type { EndpointObserver } from '../upstream/endpoint-options.js'
import type { PendingTimes, ShelvedPair } from './certificate-shelf.js'
import { changesBetween } from './changes.js'
import { type LoadOutcome, load, snapshotOf, type UsableConfig } from './load.js'
import { reportCertificates, reportDegraded, reportNewHosts, reportReloaded } from './reload-report.js'
import type { Snapshot } from './snapshot.js'
import { Stock } from './stock.js'

/** What a reload needs of the server. */
export interface ReloadOptions {
  readonly mainFile: string
  readonly log: () => Log
  readonly current: () => Snapshot | undefined
  /** Puts a snapshot into service; the mistakes where that is not possible (a port in use). */
  readonly apply: (snapshot: Snapshot) => Promise<readonly ConfigError[]>
  readonly endpointObserver: EndpointObserver
  /** Hears what was found at the places of the certificates, whatever came of the rest. */
  readonly onCertificates: (pairs: readonly ShelvedPair[]) => void
  /** Hears of a mistake of Hostward itself that would otherwise go unheard. */
  readonly onBug: (error: unknown) => void
}

type ChangedFiles = ReadonlySet<string> | 'all'

/** What came of a load: mistakes that kept it from service, what served before, and since when it has been at work. */
interface Applied {
  readonly errors: readonly ConfigError[]
  readonly previous: Snapshot | undefined
  readonly startedMs: number
  readonly slices: Slices
}

/** Follows the files of one configuration. Closed by its owner. */
export class Reload {
  readonly #options: ReloadOptions
  readonly #stock: Stock
  #watch: FileWatch | undefined
  #watchSettings: Config['reload'] | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #retryTimer: NodeJS.Timeout | undefined
  #rejectedTimer: NodeJS.Timeout | undefined
  /** What the snapshot in service was made of. */
  #inService: UsableConfig | undefined
  /** The mistakes that were told last, so that each is told once. */
  #toldErrors = ''
  #isClosed = false

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#stock = new Stock(options.endpointObserver)
  }

  /** The first load. Resolves to the mistakes that keep the server from starting; none: it serves and is watched. */
  async start(): Promise<readonly ConfigError[]> {
    return await this.#inTurn(() => this.#load('all'))
  }

  /** Reads everything again, changed or not. */
  async now(): Promise<readonly ConfigError[]> {
    this.#toldErrors = ''
    return await this.#inTurn(() => this.#load('all'))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
    clearTimeout(this.#rejectedTimer)
    await this.#watch?.close()
    await this.#queue
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#queue.then(work)
    this.#queue = turn.catch(() => undefined)
    return turn
  }

  /** For loads that nobody waits for: a mistake of ours must not end what serves. */
  #inTurnUnheard(work: () => Promise<unknown>): void {
    this.#inTurn(work).catch((error: unknown) => this.#options.onBug(error))
  }

  async #load(changed: ChangedFiles): Promise<readonly ConfigError[]> {
    const startedMs = performance.now()
    const slices = new Slices()
    const previous = this.#options.current()
    const { mainFile } = this.#options
    const outcome = await load({ mainFile, stock: this.#stock, previous, changed, slices })
    await slices.pause()
    const errors = outcome.snapshot === undefined ? outcome.errors : await this.#options.apply(outcome.snapshot)
    if (errors.length === 0) this.#inService = outcome.usable
    else await this.#applyRenewals(previous, slices)
    clearTimeout(this.#rejectedTimer)
    if (outcome.snapshot !== undefined && errors.length > 0) this.#retryRejected()
    await slices.pause()
    await this.#report(outcome, { errors, previous, startedMs, slices })
    return errors
  }

  // Everything that takes long comes first: whoever reads a line of a load is told the rest of it in the same breath.
  async #report(outcome: LoadOutcome, { errors, previous, startedMs, slices }: Applied): Promise<void> {
    const snapshot = this.#options.current()
    const changes = snapshot && previous && (await slices.run(changesBetween(previous, snapshot)))
    await slices.pause()
    this.#follow()
    await slices.pause()
    const log = this.#options.log()
    await slices.run(reportCertificates(log, outcome, snapshot))
    if (errors.length > 0) this.#reportRejected(errors, previous)
    else this.#toldErrors = ''
    if (snapshot === undefined || snapshot === previous) return
    await slices.run(reportNewHosts(log, { outcome, snapshot, previous }))
    reportDegraded(log, snapshot, previous)
    if (changes === undefined) return
    const cost = { durationMs: performance.now() - startedMs, blockedMs: slices.longestMs }
    reportReloaded(log, { snapshot, changes, cost })
  }

  // A configuration may stay broken for days; the certificates of what serves must not expire meanwhile.
  async #applyRenewals(previous: Snapshot | undefined, slices: Slices): Promise<void> {
    if (this.#inService === undefined || previous === undefined) return
    const renewed = await snapshotOf(this.#inService, { stock: this.#stock, previous }, slices)
    const { changed } = await slices.run(changesBetween(previous, renewed))
    if (changed.length > 0 || previous.fallback !== renewed.fallback) await this.#options.apply(renewed)
  }

  #reportRejected(errors: readonly ConfigError[], previous: Snapshot | undefined): void {
    const text = JSON.stringify(errors)
    if (text === this.#toldErrors) return
    this.#toldErrors = text
    const message =
      previous === undefined ? 'the configuration has mistakes' : 'the configuration has mistakes; nothing was changed'
    this.#options.log().error('config_rejected', message, { errors })
  }

  #follow(): void {
    const config = this.#options.current()?.config
    if (config === undefined || this.#isClosed) return
    this.#options.onCertificates(this.#stock.certificates.pairs())
    this.#watchBy(config.reload).setFiles(this.#stock.uses)
    this.#retryPending(config.reload)
  }

  // An address in use, say, may become free without any file changing.
  #retryRejected(): void {
    const config = this.#options.current()?.config
    if (config === undefined || this.#isClosed) return
    const again = (): void => this.#inTurnUnheard(() => this.#load(new Set()))
    this.#rejectedTimer = setTimeout(again, config.reload.pollMs).unref()
  }

  #watchBy(settings: Config['reload']): FileWatch {
    const isSame = JSON.stringify(settings) === JSON.stringify(this.#watchSettings)
    if (this.#watch !== undefined && isSame) return this.#watch
    void this.#watch?.close()
    this.#watchSettings = settings
    this.#watch = new FileWatch({
      ...settings,
      onChange: (paths) => this.#inTurnUnheard(() => this.#load(paths)),
      onSignalLost: (error) =>
        this.#options.log().warn('watch_degraded', 'changes are seen by polling alone', { reason: error.message }),
    })
    return this.#watch
  }

  // A pair whose halves do not fit is being written at this very moment, most likely: it is read again soon, then slower.
  #retryPending(times: PendingTimes): void {
    clearTimeout(this.#retryTimer)
    const delayMs = this.#stock.certificates.retryDelayMs(times)
    if (delayMs === undefined) return
    this.#retryTimer = setTimeout(() => this.#inTurnUnheard(() => this.#retry()), delayMs).unref()
  }

  async #retry(): Promise<void> {
    const config = this.#options.current()?.config
    if (config === undefined || this.#isClosed) return
    if (await this.#stock.certificates.hasNews(config.reload)) await this.#load(new Set())
    else this.#retryPending(config.reload)
  }
}
