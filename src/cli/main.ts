#!/usr/bin/env node
// The program: finds the command, parses its options, sets the exit code. Knows no command's inside.
import { certs } from './certs.js'
import { check } from './check.js'
import { type Command, exitCode, UsageError } from './command.js'
import { findCommand, parseOptions } from './command-line.js'
import { commandHelp, generalHelp, programVersion } from './help.js'
import { serve } from './serve.js'
import { openTerminal } from './terminal.js'
import { why } from './why.js'

const commands: readonly Command[] = [serve, check, certs, why]
const terminal = openTerminal()

process.setUncaughtExceptionCaptureCallback((error) => {
  reportError(error)
  process.exit(exitCode.mistakes)
})
process.exitCode = await main(process.argv.slice(2)).catch(reportError)

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined) {
    terminal.err(generalHelp(commands))
    return exitCode.usage
  }
  if (name === '--version' || name === '-v') return print(programVersion())
  if (name === '--help' || name === '-h') return print(generalHelp(commands))
  if (name === 'help') {
    return print(args[0] === undefined ? generalHelp(commands) : commandHelp(findCommand(args[0], commands)))
  }
  const command = findCommand(name, commands)
  if (args.includes('--help') || args.includes('-h')) return print(commandHelp(command))
  return await command.run(parseOptions(command, args), terminal)
}

function print(text: string): number {
  terminal.out(text)
  return exitCode.ok
}

function reportError(error: unknown): number {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof UsageError) {
    terminal.err(`hostward: ${message}\n  hint: ${error.hint}`)
    return exitCode.usage
  }
  terminal.err(`hostward: ${message.split('\n', 1)[0]}`)
  return exitCode.mistakes
}
