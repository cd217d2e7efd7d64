// Hostward in this process, on ports that the system chose, with its log in the workspace.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Server } from '../../src/server/server.js'
import type { LogFile, LogLine } from './log-file.js'
import { connectHttp1, type Http1Client } from './wires.js'
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

  /** Starts for one test, at whose end everything is closed and removed. */
  static async startFor(test: TestContext, main: MainFile, workspace = new Workspace()): Promise<RunningServer> {
    const running = await RunningServer.start(main, workspace)
    test.after(() => running.close())
    return running
  }

  /** Starts on `main`, completed by the quick settings, and asserts that it serves. */
  static async start(main: MainFile, workspace = new Workspace()): Promise<RunningServer> {
    const running = new RunningServer(workspace, { ...quickSettings, ...main })
    workspace.write('main.yaml', running.#main)
    assert.deepEqual(await running.server.start(), [])
    // The log is a little late; a test that waits for a change must not find what was told before it.
    await running.log.line({ event: 'listening' })
    return running
  }

  /** The main file as it is on disk. */
  get main(): MainFile {
    return this.#main
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

  /** Opens a connection of HTTP/1.1 over TLS, which ends with the server. */
  connect(servername?: string, listener = 'public'): Promise<Http1Client> {
    return connectHttp1({ port: this.port(listener), servername })
  }

  async close(): Promise<void> {
    await this.server.close()
    this.workspace.remove()
  }
}
