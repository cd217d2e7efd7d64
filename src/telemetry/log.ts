// The log: one event one line of JSON, on standard output or in a file. Used by everybody who has something to tell.
// A slow or full destination never holds up the caller; see destination.ts.
import { type Logger, pino } from 'pino'
import { isoClock, type TimeText } from './clock.js'
import { LogDestination } from './destination.js'
import { type RequestEntry, RequestLineWriter } from './request-line.js'
import { openFileSink, standardOutputSink } from './sink.js'

/** How much is told. Request lines and `log_dropped` are written at every level. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** The facts of one event. */
export type LogFields = Readonly<Record<string, unknown>>

/** What a log needs to be opened. */
export interface LogOptions {
  readonly level: LogLevel
  /** The file to append to; null is standard output. */
  readonly file: string | null
  /** Milliseconds since 1970; the system's clock if left out. */
  readonly now?: () => number
}

/** Opens the log; throws an Error that names the file and the reason where it cannot be opened. */
export function openLog(options: LogOptions): Log {
  return new Log(options)
}

/** An open log. Whoever opened it closes it. */
export class Log {
  readonly #time: TimeText
  readonly #destination: LogDestination
  readonly #events: Logger
  readonly #requests = new RequestLineWriter()
  readonly #file: string | null

  constructor({ level, file, now = Date.now }: LogOptions) {
    this.#file = file
    this.#time = isoClock(now)
    this.#destination = new LogDestination({
      open: () => (file === null ? standardOutputSink() : openFileSink(file)),
      onFlowing: (droppedCount) => this.#destination.write(droppedLine(droppedCount, this.#time())),
    })
    this.#events = eventLogger({ level, time: this.#time, destination: this.#destination })
  }

  debug(event: string, message: string, fields?: LogFields): void {
    this.#events.debug({ event, ...fields }, message)
  }

  /** What an operator did or must know. */
  info(event: string, message: string, fields?: LogFields): void {
    this.#events.info({ event, ...fields }, message)
  }

  /** What will need a hand. */
  warn(event: string, message: string, fields?: LogFields): void {
    this.#events.warn({ event, ...fields }, message)
  }

  /** What needs a hand now. */
  error(event: string, message: string, fields?: LogFields): void {
    this.#events.error({ event, ...fields }, message)
  }

  /** Writes the access log's line, at every level; whether it is wanted is the caller's decision. */
  request(entry: RequestEntry): void {
    const line = this.#requests.write(entry, this.#time())
    this.#destination.writeBytes(line.bytes, line.length)
  }

  /** Changes the level of what comes next. */
  setLevel(level: LogLevel): void {
    this.#events.level = level
  }

  /** Opens the file anew under its name, after it was rotated away; standard output stays what it is. */
  reopen(): void {
    if (this.#file === null) return
    try {
      this.#destination.reopen()
    } catch (error) {
      this.error('log_reopen_failed', (error as Error).message, { file: this.#file })
    }
  }

  /** Resolves when what was told so far is written, or after `deadlineMs`. */
  flush(deadlineMs = 1000): Promise<void> {
    return this.#destination.flush(deadlineMs)
  }

  /** Flushes within `deadlineMs` and closes the file; what is told later is lost. */
  close(deadlineMs = 1000): Promise<void> {
    return this.#destination.close(deadlineMs)
  }
}

interface EventLoggerOptions {
  readonly level: LogLevel
  readonly time: TimeText
  readonly destination: LogDestination
}

function eventLogger({ level, time, destination }: EventLoggerOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${time()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return pino(options, destination)
}

// Past pino, because a level of `error` must not silence it.
function droppedLine(count: number, time: string): string {
  return `{"level":"warn","time":"${time}","event":"log_dropped","count":${count},"msg":"log lines were dropped: the log is slow or full"}\n`
}
