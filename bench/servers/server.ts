// What the benchmark asks of a server: to be started as an ordinary operator would configure it for speed, and to log.
import type { ChildProcess } from 'node:child_process'

/** HTTP/1.1 or HTTP/2 towards the client; the upstream is HTTP/1.1 always. */
export type Wire = 'h1' | 'h2'

/** What every server gets: the same certificate, the same origin, a folder of its own. */
export interface Setup {
  readonly folder: string
  readonly certificateFile: string
  readonly keyFile: string
  readonly originPort: number
}

/** A server that runs. */
export interface RunningServer {
  readonly child: ChildProcess
  readonly port: number
  readonly logFile: string
}

/** A server that can be measured. */
export interface Server {
  readonly name: string
  readonly wires: readonly Wire[]
  /** Why it cannot be measured here, or undefined. */
  readonly missing: string | undefined
  /** Stands once in every access-log line of its own. */
  readonly logMarker: string
  /** Resolves when it accepts connections. */
  start(setup: Setup): Promise<RunningServer>
}
