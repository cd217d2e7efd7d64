// From a change on disk to a snapshot that serves, one load at a time; says in the log what came of it.
// Owned by the server; a load that fails leaves everything as it is.
import type { ConfigError } from '../config/config-error.js'
import { createRememberingParser } from '../config/parse.js'
import { FileWatch } from '../files/file-watch.js'
import type { Log } from '../telemetry/log.js'
import { retryDelayMs } from '../tls/certificate-source.js'
import { CertificateShelf } from './certificate-shelf.js'
import { changesBetween } from './changes.js'
import { type LoadOutcome, load } from './load.js'
import { reportCertificates, reportDegraded } from './reload-report.js'
import type { Snapshot } from './snapshot.js'

/** What a reload needs of the server. */
export interface ReloadOptions {
  readonly mainFile: string
  readonly log: () => Log
  readonly current: () => Snapshot | undefined
  /** Puts a snapshot into service; the mistakes where that is not possible (a port in use). */
  readonly apply: (snapshot: Snapshot) => Promise<readonly ConfigError[]>
}

/** Follows the files of one configuration. Closed by its owner. */
export class Reload {
  readonly #options: ReloadOptions
  readonly #shelf = new CertificateShelf()
  readonly #parse = createRememberingParser()
  #watch: FileWatch | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #retryTimer: NodeJS.Timeout | undefined
  #retries = 0
  #isClosed = false

  constructor(options: ReloadOptions) {
    this.#options = options
  }

  /** The first load. Resolves to the mistakes that keep the server from starting; none: it serves and is watched. */
  async start(): Promise<readonly ConfigError[]> {
    return await this.#inTurn(() => this.#load('all'))
  }

  /** Reads everything again, changed or not. */
  async now(): Promise<readonly ConfigError[]> {
    return await this.#inTurn(() => this.#load('all'))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
    await this.#watch?.close()
    await this.#queue
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#queue.then(work)
    this.#queue = turn.catch(() => undefined)
    return turn
  }

  async #load(changed: ReadonlySet<string> | 'all'): Promise<readonly ConfigError[]> {
    const startedMs = performance.now()
    const previous = this.#options.current()
    const { mainFile } = this.#options
    const outcome = await load({ mainFile, shelf: this.#shelf, parse: this.#parse, previous, changed })
    const errors = outcome.snapshot === undefined ? outcome.errors : await this.#options.apply(outcome.snapshot)
    reportCertificates(this.#options.log(), outcome, outcome.snapshot ?? previous)
    if (errors.length > 0) this.#reportRejected(errors, previous)
    else if (outcome.snapshot !== undefined)
      this.#reportApplied(outcome.snapshot, previous, performance.now() - startedMs)
    if (errors.length === 0 || previous !== undefined) this.#follow(outcome)
    return errors
  }

  #reportRejected(errors: readonly ConfigError[], previous: Snapshot | undefined): void {
    const message =
      previous === undefined ? 'the configuration has mistakes' : 'the configuration has mistakes; nothing was changed'
    this.#options.log().error('config_rejected', message, { errors })
  }

  #reportApplied(snapshot: Snapshot, previous: Snapshot | undefined, durationMs: number): void {
    reportDegraded(this.#options.log(), snapshot, previous)
    if (previous === undefined) return
    const { generation, degraded } = snapshot
    const facts = {
      generation,
      durationMs: Math.round(durationMs),
      ...changesBetween(previous, snapshot),
      degraded: degraded.length,
    }
    this.#options.log().info('config_reloaded', 'the configuration is in service', facts)
  }

  #follow(outcome: LoadOutcome): void {
    const config = this.#options.current()?.config
    if (config === undefined || this.#isClosed) return
    this.#watch ??= new FileWatch({
      ...config.reload,
      onChange: (paths) => void this.#inTurn(() => this.#load(paths)),
      onSignalLost: (error) =>
        this.#options.log().warn('watch_degraded', 'changes are seen by polling alone', { reason: error.message }),
    })
    this.#watch.setFiles(outcome.versions)
    this.#retryPending(config.reload.pollMs)
  }

  // A pair whose halves do not fit is being written at this very moment, most likely: it is read again soon, then slower.
  #retryPending(pollMs: number): void {
    clearTimeout(this.#retryTimer)
    if (!this.#shelf.hasPending) this.#retries = 0
    else
      this.#retryTimer = setTimeout(
        () => void this.#inTurn(() => this.#retry()),
        retryDelayMs(this.#retries++, pollMs),
      ).unref()
  }

  async #retry(): Promise<void> {
    const config = this.#options.current()?.config
    if (config === undefined || this.#isClosed) return
    if (await this.#shelf.hasNews()) await this.#load(new Set())
    else this.#retryPending(config.reload.pollMs)
  }
}
