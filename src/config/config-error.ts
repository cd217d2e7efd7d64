// A person's mistake in a configuration file, with its place. Used by everything that reads the configuration, and by
// what finds out later (a certificate that does not fit) and wants to point at the line that named it.

import { relative } from 'node:path'

/** A place in a file: the absolute path, line and column counted from 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** What is wrong, where, and what to do about it. */
export interface ConfigError extends Place {
  readonly message: string
  readonly hint?: string
}

/** `config/hostward.yaml:14:15: message`, and the hint indented on a line of its own; paths are relative to `directory`. */
export function formatConfigError(error: ConfigError, directory: string): string {
  const line = `${formatPlace(error, directory)}: ${error.message}`
  return error.hint === undefined ? line : `${line}\n  hint: ${error.hint}`
}

/** `config/hostward.yaml:14:15`, relative to `directory` where the file lies below it. */
export function formatPlace(place: Place, directory: string): string {
  const path = relative(directory, place.file)
  return `${path.startsWith('..') ? place.file : path}:${place.line}:${place.column}`
}
