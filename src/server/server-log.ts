// The log that is in use: standard output until a configuration names a file, changed as reloads change it.
// Used by the server.

import type { LogConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import { type Log, openLog } from '../telemetry/log.js'

/** A log that is ready to be used; nothing has changed before `commit`. */
export interface PreparedLog {
  readonly commit: () => void
  /** Lets go of what was opened, where the rest of the configuration cannot serve. */
  readonly abandon: () => void
}

/** The current log of a server. */
export class ServerLog {
  #log: Log = openLog({ level: 'info', file: null })
  #file: string | null = null

  get current(): Log {
    return this.#log
  }

  /** Opens the configured file where it is another one; the mistake where it cannot be opened. */
  prepare(config: LogConfig): PreparedLog | { readonly error: ConfigError } {
    if (config.file === this.#file) return { commit: () => this.#log.setLevel(config.level), abandon: () => {} }
    try {
      const log = openLog({ level: config.level, file: config.file })
      return { commit: () => this.#replace(log, config.file), abandon: () => void log.close() }
    } catch (error) {
      const hint = 'the directory must exist, and the user that runs Hostward must be able to write there'
      return { error: { ...config.place, message: (error as Error).message, hint } }
    }
  }

  #replace(log: Log, file: string | null): void {
    const previous = this.#log
    this.#log = log
    this.#file = file
    void previous.close()
  }
}
