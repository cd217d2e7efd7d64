// Hostward as a person starts it: a process with signals, standard output and an exit code.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { within } from './deadline.js'
import type { LogLine } from './log-file.js'
import { type MainFile, quickSettings } from './running-server.js'
import { connectHttp1, type Http1Client } from './wires.js'
import type { Workspace } from './workspace.js'

const program = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** A process of `hostward serve`, killed at the end of its test. */
export class HostwardProcess {
  readonly workspace: Workspace
  /** Everything on standard output and standard error so far. */
  output = ''
  errorOutput = ''
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #exit: Promise<number | null>
  #main: MainFile = {}

  constructor(workspace: Workspace) {
    this.workspace = workspace
    const args = [program, 'serve', '-c', workspace.path('main.yaml')]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#exit = once(this.#child, 'close').then(([code]) => code as number | null)
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
    })
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errorOutput += text
    })
  }

  /** Starts on a main file, completed by the quick settings, and waits until it accepts. */
  static async startFor(test: TestContext, workspace: Workspace, main: MainFile): Promise<HostwardProcess> {
    workspace.write('main.yaml', { ...quickSettings, ...main })
    const running = HostwardProcess.runFor(test, workspace)
    running.#main = { ...quickSettings, ...main }
    await workspace.log.line({ event: 'listening' })
    return running
  }

  /** Runs on the main file that is there, whatever comes of it. */
  static runFor(test: TestContext, workspace: Workspace): HostwardProcess {
    const running = new HostwardProcess(workspace)
    test.after(() => running.kill())
    return running
  }

  /** The main file that it was started on. */
  get main(): MainFile {
    return this.#main
  }

  /** The port that the log names. */
  async port(): Promise<number> {
    return Number((await this.workspace.log.line({ event: 'listening' }))['port'])
  }

  /** Opens a connection of HTTP/1.1 over TLS. */
  async connect(servername: string): Promise<Http1Client> {
    return connectHttp1({ port: await this.port(), servername })
  }

  /** The lines on standard output; throws where one is not JSON. */
  get outputLines(): LogLine[] {
    const texts = this.output.split('\n').slice(0, -1)
    return texts.map((text): LogLine => JSON.parse(text))
  }

  /** From now on nobody reads standard output. */
  blockOutput(): void {
    this.#child.stdout.pause()
  }

  unblockOutput(): void {
    this.#child.stdout.resume()
  }

  /** How many files and sockets it has open. */
  get openFiles(): number {
    return readdirSync(`/proc/${this.#child.pid}/fd`).length
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** The exit code, once it has ended; null where a signal ended it. */
  exited(): Promise<number | null> {
    return within('the process ends', this.#exit)
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.#exit
  }
}
