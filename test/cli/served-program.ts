// `hostward serve` as a process of its own, seen by its log alone.
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import type { TestContext } from 'node:test'
import { within } from '../support/deadline.js'
import type { Program, Workspace } from './workspace.js'

/** One line of the log. */
export interface Line {
  readonly event: string
  readonly level: string
  readonly [field: string]: unknown
}

/** Serves the configuration of a workspace until it is told to stop, or the test ends. */
export class ServedProgram {
  readonly workspace: Workspace
  readonly process: Program
  /** The log so far. A line that is no JSON fails the test. */
  readonly lines: Line[] = []
  /** What came on standard error so far. */
  stderr = ''
  readonly #reader: Interface
  readonly #closed: Promise<unknown[]>

  constructor(context: TestContext, workspace: Workspace, options: readonly string[] = []) {
    this.workspace = workspace
    this.process = workspace.start(['serve', ...options])
    context.after(() => this.process.kill('SIGKILL'))
    this.#reader = createInterface({ input: this.process.stdout })
    this.#reader.on('line', (line) => this.lines.push(JSON.parse(line)))
    this.process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.#closed = once(this.process, 'close')
  }

  /** The first line of that event with these fields, waited for. */
  async logged(event: string, fields: Readonly<Record<string, unknown>> = {}): Promise<Line> {
    for (;;) {
      const wanted = Object.entries({ event, ...fields })
      const found = this.lines.find((line) => wanted.every(([name, value]) => line[name] === value))
      if (found !== undefined) return found
      await within(`the log says ${event}`, once(this.#reader, 'line'))
    }
  }

  /** The exit code. */
  async ended(): Promise<unknown> {
    const [code] = await within('the server ends', this.#closed)
    return code
  }
}
