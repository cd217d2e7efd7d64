// What the commands say where a configuration, or a part of it, cannot be looked at for its mistakes.
import { formatConfigError } from '../config/config-error.js'
import type { Terminal } from './command.js'
import { counted } from './counted.js'
import { brokenSiteFindings, type Findings } from './findings.js'
import type { Inspection } from './inspection.js'

/** Says that nothing would be served, and why. */
export function tellUnusable({ errors }: Pick<Findings, 'errors'>, terminal: Terminal): void {
  for (const error of errors) terminal.err(formatConfigError(error, process.cwd()))
  const running = 'a running server keeps what it serves'
  terminal.err(`hostward: ${counted(errors.length, 'mistake')}; nothing would be served at a start, ${running}`)
}

/** Says which sites are left out of a result, and why; false where none is. */
export function tellLeftOut({ loaded: { brokenSites } }: Inspection, terminal: Terminal): boolean {
  if (brokenSites.length === 0) return false
  for (const error of brokenSiteFindings(brokenSites)) terminal.err(formatConfigError(error, process.cwd()))
  terminal.err(`hostward: left out for these mistakes: ${counted(brokenSites.length, 'site')}`)
  return true
}
