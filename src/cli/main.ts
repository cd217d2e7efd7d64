#!/usr/bin/env node
// The program: finds the command, parses its options, sets the exit code. Knows no command's inside.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Command, exitCode, type Terminal } from './command.js'
import { serve } from './serve.js'

const commands: readonly Command[] = [serve]

const terminal: Terminal = {
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(`${text}\n`),
}

process.exitCode = await main(process.argv.slice(2))

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return help(name)
  if (name === '--version' || name === '-v') return version()
  const command = commands.find((each) => each.name === name)
  if (command === undefined) return usageError(`there is no command "${name}"`)
  if (args.includes('--help') || args.includes('-h')) return commandHelp(command)
  try {
    const { values } = parseArgs({ args, options: command.options, allowPositionals: false, strict: true })
    return await command.run(values as Record<string, string | boolean | undefined>, terminal)
  } catch (error) {
    if (isUsageError(error)) return usageError(error.message)
    throw error
  }
}

function help(name: string | undefined): number {
  const lines = commands.map((command) => `  hostward ${command.name.padEnd(6)} ${command.summary}`)
  const text = [
    'Usage: hostward COMMAND [options]',
    '',
    ...lines,
    '',
    'hostward COMMAND --help shows its options.',
  ].join('\n')
  if (name === undefined) terminal.err(text)
  else terminal.out(text)
  return name === undefined ? exitCode.usage : exitCode.ok
}

function commandHelp(command: Command): number {
  terminal.out(
    [
      `Usage: hostward ${command.name} [options]`,
      command.summary,
      '',
      ...command.usage.map((line) => `  ${line}`),
    ].join('\n'),
  )
  return exitCode.ok
}

function version(): number {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  )
  terminal.out(manifest.version)
  return exitCode.ok
}

function usageError(message: string): number {
  terminal.err(`hostward: ${message}\n  hint: hostward --help lists the commands and their options`)
  return exitCode.usage
}

function isUsageError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}
