// What every command has in common: its name, its options, and what it may print where. Used by main.ts and the commands.
import type { ParseArgsConfig } from 'node:util'

/** Exit codes: all well; mistakes, or a hand is needed; the command line itself is wrong. */
export const exitCode = { ok: 0, mistakes: 1, usage: 2 } as const

/** The values of a command's options, as `parseArgs` gives them. */
export type OptionValues = Readonly<Record<string, string | boolean | undefined>>

/** Where a command prints. */
export interface Terminal {
  /** Results. */
  out(text: string): void
  /** Everything else. */
  err(text: string): void
}

/** One command of the program. */
export interface Command {
  readonly name: string
  /** One line for `--help`. */
  readonly summary: string
  /** The options as `--help` shows them, one line each. */
  readonly usage: readonly string[]
  /** What else `--help` says, ready to print: what the command does, its exit codes, an example. */
  readonly details: readonly string[]
  readonly options: NonNullable<ParseArgsConfig['options']>
  /** Resolves to the exit code; throws a UsageError where the options make no sense. */
  run(values: OptionValues, terminal: Terminal): Promise<number>
}

/** A command line that cannot be run; printed with its hint, exit code 2. */
export class UsageError extends Error {
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/** The option that every command has. */
export const configOption = { config: { type: 'string', short: 'c', default: 'config/hostward.yaml' } } as const

/** How `--help` shows it. */
export const configUsage = '-c, --config FILE    the main configuration file (config/hostward.yaml)'

/** The option of commands whose result programs may read. */
export const jsonOption = { json: { type: 'boolean', default: false } } as const

/** How `--help` shows it. */
export const jsonUsage = '--json               the result as JSON, and nothing else on stdout'

/** The value of `--config`. */
export function configFile(values: OptionValues): string {
  return String(values['config'])
}

/** The value of an option that takes a text, undefined where it is not given. */
export function textOption(values: OptionValues, name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

/** A value as `--json` prints it. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
