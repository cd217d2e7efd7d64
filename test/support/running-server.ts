// Hostward in this process, on ports that the system chose, with its log in the workspace.
import assert from 'node:assert/strict'
import { Server } from '../../src/server/server.js'
import type { LogFile, LogLine } from './log-file.js'
import { Workspace } from './workspace.js'

/** A main file; what a test does not say is quick and on port 0. */
export type MainFile = Readonly<Record<string, unknown>>

/** The settings that tests share: changes are seen soon, and nothing waits for long. */
export const quickSettings = {
  listeners: [{ name: 'public', bind: '127.0.0.1:0' }],
  reload: { debounceMs: 5, pollMs: 50 },
  timeouts: { shutdownMs: 5_000 },
  log: { file: 'hostward.log' },
} as const

/** A server under test and its files. Close it at the end. */
export class RunningServer {
  readonly workspace: Workspace
  readonly server: Server
  #main: MainFile

  private constructor(workspace: Workspace, main: MainFile) {
    this.workspace = workspace
    this.#main = main
    this.server = new Server({ mainFile: workspace.path('main.yaml') })
  }

  /** Starts on `main`, completed by the quick settings, and asserts that it serves. */
  static async start(main: MainFile, workspace = new Workspace()): Promise<RunningServer> {
    const running = new RunningServer(workspace, { ...quickSettings, ...main })
    workspace.write('main.yaml', running.#main)
    assert.deepEqual(await running.server.start(), [])
    return running
  }

  get log(): LogFile {
    return this.workspace.log
  }

  /** The port of a listener. */
  port(name = 'public'): number {
    const listener = this.server.listeners.find((each) => each.name === name)
    assert.ok(listener, `there is a listener ${name}`)
    return listener.port
  }

  /** Writes the main file with these keys changed. */
  change(keys: MainFile): void {
    this.#main = { ...this.#main, ...keys }
    this.workspace.write('main.yaml', this.#main)
  }

  /** Writes the main file with these keys changed, and waits until that serves. */
  async reload(keys: MainFile): Promise<LogLine> {
    return await this.log.after(() => this.change(keys), { event: 'config_reloaded' })
  }

  async close(): Promise<void> {
    await this.server.close()
    this.workspace.remove()
  }
}
