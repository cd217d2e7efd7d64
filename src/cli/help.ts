// What `--help` and `--version` print. Pure but for the manifest; used by main.ts.
import { readFileSync } from 'node:fs'
import type { Command } from './command.js'

/** The commands, one line each. */
export function generalHelp(commands: readonly Command[]): string {
  return [
    'Usage: hostward COMMAND [options]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(6)} ${summary}`),
    '',
    'hostward COMMAND --help shows its options. hostward --version prints the version.',
    'Exit codes: 0 all is well, 1 mistakes or a hand is needed, 2 the command line is wrong.',
  ].join('\n')
}

/** One command in full. */
export function commandHelp({ name, summary, usage, details }: Command): string {
  return [
    `Usage: hostward ${name} [options]`,
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    '',
    ...usage.map((line) => `  ${line}`),
    '',
    ...details,
  ].join('\n')
}

/** The version as package.json has it. */
export function programVersion(): string {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  )
  return manifest.version
}
