// Reads a log file while it grows, so that a test can wait for what Hostward says of itself.
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

/** One line of the log. */
export type LogLine = Readonly<Record<string, unknown>>

const deadlineMs = 20_000
const lookMs = 5

/** A log file and its lines so far; every line must be JSON. */
export class LogFile {
  readonly path: string
  #lines: LogLine[] = []
  #offset = 0
  #rest = ''

  constructor(path: string) {
    this.path = path
  }

  /** The lines so far that have these fields with these values. */
  lines(fields: LogLine = {}): LogLine[] {
    this.#read()
    return this.#lines.filter((line) => matches(line, fields))
  }

  /** How many lines there are. */
  get count(): number {
    this.#read()
    return this.#lines.length
  }

  /** The lines but the first `count`. */
  beyond(count: number): readonly LogLine[] {
    this.#read()
    return this.#lines.slice(count)
  }

  /** Waits until there are `count` such lines and returns the last of them. */
  async line(fields: LogLine, count = 1): Promise<LogLine> {
    const found = await this.all(JSON.stringify(fields), count, (line) => matches(line, fields))
    return found[count - 1] ?? {}
  }

  /** Waits until at least `count` lines are `wanted`, and returns all that are. */
  async all(what: string, count: number, wanted: (line: LogLine) => boolean): Promise<readonly LogLine[]> {
    const endMs = performance.now() + deadlineMs
    const found: LogLine[] = []
    for (let looked = 0; ; await delay(lookMs)) {
      this.#read()
      found.push(...this.#lines.slice(looked).filter(wanted))
      looked = this.#lines.length
      if (found.length >= count) return found
      if (performance.now() > endMs) throw new Error(`not in the log: ${what}\n${this.#summary()}`)
    }
  }

  /** Waits for the first such line that stands after another line. */
  async following(line: LogLine, fields: LogLine): Promise<LogLine> {
    const isLater = (): boolean => this.lines(fields).some((each) => this.#isAfter(each, line))
    await this.until(`after ${line['event']}: ${JSON.stringify(fields)}`, isLater)
    return this.lines(fields).find((each) => this.#isAfter(each, line)) ?? {}
  }

  /** Waits for a condition that is not about the log, and shows the log where it does not come. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const endMs = performance.now() + deadlineMs
    while (!condition()) {
      if (performance.now() > endMs) throw new Error(`did not happen in time: ${what}\n${this.#summary()}`)
      await delay(lookMs)
    }
  }

  /** Makes a change and waits for the first such line that was not there before. */
  async after(change: () => unknown, fields: LogLine): Promise<LogLine> {
    const before = this.lines(fields).length
    await change()
    return await this.line(fields, before + 1)
  }

  #isAfter(line: LogLine, other: LogLine): boolean {
    return this.#lines.indexOf(line) > this.#lines.indexOf(other)
  }

  #read(): void {
    const sizeBytes = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0
    if (sizeBytes <= this.#offset) return
    const file = openSync(this.path, 'r')
    const bytes = Buffer.allocUnsafe(sizeBytes - this.#offset)
    this.#offset += readSync(file, bytes, 0, bytes.length, this.#offset)
    closeSync(file)
    const texts = (this.#rest + bytes.toString('latin1')).split('\n')
    this.#rest = texts.pop() ?? ''
    for (const text of texts) this.#lines.push(JSON.parse(text))
  }

  #summary(): string {
    const others = this.#lines.filter((line) => line['event'] !== 'request')
    return others
      .slice(-15)
      .map((line) => JSON.stringify(line))
      .join('\n')
  }
}

function matches(line: LogLine, fields: LogLine): boolean {
  for (const name in fields) {
    if (line[name] !== fields[name] && !isDeepStrictEqual(line[name], fields[name])) return false
  }
  return true
}
