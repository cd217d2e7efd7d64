// The program as a person starts it: `hostward serve` in a process of its own, its log read line by line.
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { within } from '../support/deadline.js'
import { endWithUs, stop } from './program.js'

const program = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** One line of the log. */
export type LogLine = Readonly<Record<string, unknown>>

/** A running `hostward serve`; stop it at the end. */
export class Hostward {
  readonly lines: LogLine[] = []
  readonly #child: ChildProcessWithoutNullStreams
  readonly #waiters = new Set<() => void>()
  #errors = ''

  private constructor(configFile: string) {
    this.#child = spawn(process.execPath, [program, 'serve', '-c', configFile], { stdio: 'pipe' })
    endWithUs(this.#child)
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text))
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line))
      for (const wake of this.#waiters) wake()
    })
    this.#child.on('exit', () => {
      for (const wake of this.#waiters) wake()
    })
  }

  /** Serves a configuration, whose files are relative to `folder`; resolves when all listeners accept. */
  static async start(folder: string, config: { readonly listeners: readonly object[] }): Promise<Hostward> {
    const configFile = join(folder, 'hostward.yaml')
    // JSON is YAML too.
    writeFileSync(configFile, JSON.stringify(config))
    const hostward = new Hostward(configFile)
    await hostward.logs('its listeners', () => hostward.#named('listening').length === config.listeners.length)
    return hostward
  }

  /** The port that a listener got from the system. */
  port(listener: string): number {
    return Number(this.#named('listening').find((line) => line['listener'] === listener)?.['port'])
  }

  /** The lines of requests, in the order in which they ended. */
  get requests(): readonly LogLine[] {
    return this.#named('request')
  }

  /** Waits until the log is as `isThere` wants it. */
  async logs(what: string, isThere: () => boolean): Promise<void> {
    const told = new Promise<void>((resolve, reject) => {
      const wake = (): void => {
        if (isThere()) resolve()
        else if (this.#child.exitCode !== null) reject(new Error(`it ended before ${what}: ${this.#errors}`))
        else return
        this.#waiters.delete(wake)
      }
      this.#waiters.add(wake)
      wake()
    })
    await within(`the log tells ${what}`, told)
  }

  /** Ends it, and holds it to what is true of every run: exit 0, nothing on stderr, no mistake of its own in the log. */
  async stop(): Promise<void> {
    assert.equal(await stop(this.#child), 0, this.#errors)
    assert.equal(this.#errors, '')
    const mistakes = this.lines.filter((line) => line['level'] === 'error' || line['reason'] === 'internal_error')
    assert.deepEqual(mistakes, [])
  }

  #named(event: string): readonly LogLine[] {
    return this.lines.filter((line) => line['event'] === event)
  }
}
