// A FileWatch whose reports can be waited for. Used by the tests in this folder.
import assert from 'node:assert/strict'
import type { FileWatchOptions } from '../../src/files/file-watch.js'
import { FileWatch } from '../../src/files/file-watch.js'

/** How long a test waits for something that must happen. */
export const deadlineMs = 20_000

/** A watch with its reports; quick to look where the test does not say otherwise. */
export class Observed {
  readonly watch: FileWatch
  readonly reports: ReadonlySet<string>[] = []
  readonly lost: Error[] = []
  #wake: () => void = () => {}

  constructor(options: Partial<FileWatchOptions>) {
    this.watch = new FileWatch({
      watch: true,
      pollMs: 20,
      debounceMs: 20,
      onSignalLost: (error) => this.lost.push(error),
      ...options,
      onChange: (paths) => {
        this.reports.push(paths)
        this.#wake()
      },
    })
  }

  /** Resolves with true once a report beyond `count` has come, with false after `waitMs`. */
  async reportBeyond(count: number, waitMs: number): Promise<boolean> {
    if (this.reports.length > count) return true
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(resolve, waitMs)
      this.#wake = () => {
        clearTimeout(timeout)
        resolve()
      }
    })
    return this.reports.length > count
  }

  /** Makes a change and returns the paths that are reported for it. */
  async report(change: () => void): Promise<string[]> {
    const count = this.reports.length
    change()
    assert.ok(await this.reportBeyond(count, deadlineMs), 'no report before the deadline')
    return [...(this.reports[count] ?? [])].sort()
  }
}
