// hostward check: tells every mistake of a configuration at once, its certificates and keys included.
import { formatConfigError } from '../config/config-error.js'
import { jsonSchema } from '../config/schema.js'
import {
  type Command,
  configFile,
  configOption,
  configUsage,
  exitCode,
  jsonOption,
  jsonUsage,
  type OptionValues,
  type Terminal,
  toJson,
} from './command.js'
import { counted } from './counted.js'
import { displayPath } from './display-path.js'
import { type Findings, findingsOf } from './findings.js'
import { type Inspection, inspect } from './inspection.js'

/** The command. */
export const check: Command = {
  name: 'check',
  summary: 'tell every mistake of a configuration, its certificates and keys included',
  usage: [configUsage, jsonUsage, '--schema             print the JSON Schema of the main file, for editors, and exit'],
  details: [
    'Reads what `serve` would read and serves nothing. Each mistake has its file, line and column, and a hint.',
    'Warnings (a host that its certificate does not cover, an incomplete chain) do not fail, nor does a certificate',
    'that is about to expire: see hostward certs.',
    'Exit codes: 0 no mistakes, 1 mistakes, 2 usage.',
  ],
  options: { ...configOption, ...jsonOption, schema: { type: 'boolean', default: false } },
  run: runCheck,
}

async function runCheck(values: OptionValues, terminal: Terminal): Promise<number> {
  if (values['schema'] === true) {
    terminal.out(toJson(jsonSchema()))
    return exitCode.ok
  }
  const inspection = await inspect(configFile(values))
  const findings = findingsOf(inspection)
  const isSound = findings.errors.length === 0
  terminal.out(values['json'] === true ? toJson({ ok: isSound, ...findings }) : report(inspection, findings))
  return isSound ? exitCode.ok : exitCode.mistakes
}

function report(inspection: Inspection, { errors, warnings }: Findings): string {
  const directory = process.cwd()
  const warned = warnings.map((warning) => ({ ...warning, message: `warning: ${warning.message}` }))
  const lines = [...errors, ...warned].map((finding) => formatConfigError(finding, directory))
  return [
    ...lines,
    `${displayPath(inspection.mainFile, directory)}: ${summary(inspection, { errors, warnings })}`,
  ].join('\n')
}

function summary({ loaded: { config } }: Inspection, { errors, warnings }: Findings): string {
  const warned = warnings.length === 0 ? '' : `, ${counted(warnings.length, 'warning')}`
  if (config === undefined || errors.length > 0) return `${counted(errors.length, 'mistake')}${warned}`
  const { vhosts, listeners } = config
  return `${counted(vhosts.length, 'site')} on ${counted(listeners.length, 'listener')}, no mistakes${warned}`
}
