// From the words of a command line to a command and its options, or to a UsageError with a hint. Used by main.ts.
import { parseArgs } from 'node:util'
import { didYouMean } from '../config/did-you-mean.js'
import { type Command, type OptionValues, UsageError } from './command.js'

/** The command of that name. */
export function findCommand(name: string, commands: readonly Command[]): Command {
  const found = commands.find((command) => command.name === name)
  if (found !== undefined) return found
  if (name.startsWith('-')) throw new UsageError(`unknown option ${name}`, 'the command comes first: hostward --help')
  const names = commands.map((command) => command.name)
  throw new UsageError(`there is no command "${name}"`, didYouMean(name, names) ?? `there are ${names.join(', ')}`)
}

/** The options of a command as its user gave them. */
export function parseOptions(command: Command, args: readonly string[]): OptionValues {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: command.options,
      allowPositionals: false,
      strict: true,
    })
    return values as OptionValues
  } catch (error) {
    if (!isUsageError(error)) throw error
    throw toUsageError(error, command)
  }
}

interface ParseArgsError extends Error {
  readonly code: string
}

function isUsageError(error: unknown): error is ParseArgsError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}

function toUsageError({ code, message }: ParseArgsError, command: Command): UsageError {
  const help = `hostward ${command.name} --help shows its options`
  const [, word = ''] = /'([^']*?)(?: <value>)?'/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const options = Object.keys(command.options).map((name) => `--${name}`)
    return new UsageError(`${command.name} has no option ${word}`, didYouMean(word, options) ?? help)
  }
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
    return new UsageError(`${command.name} does not know what to do with "${word}"`, help)
  }
  const needsValue = !message.includes('does not take')
  return new UsageError(needsValue ? `${word} needs a value` : `${word} takes no value`, help)
}
