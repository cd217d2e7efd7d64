// Standard output and standard error as the commands write to them. Used by main.ts.
import { exitCode, type Terminal } from './command.js'

/** Prints to the process's own streams; a reader that has left (`| head`) does no harm. */
export function openTerminal(): Terminal {
  process.stdout.on('error', onWriteError)
  process.stderr.on('error', onWriteError)
  return {
    out: (text) => process.stdout.write(`${withoutControls(text)}\n`),
    err: (text) => process.stderr.write(`${withoutControls(text)}\n`),
  }
}

// The texts quote files and arguments: an escape sequence in one of them must not reach a terminal. The notation is
// JSON's, so that JSON stays what it is.
function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function onWriteError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  process.stderr.write(`hostward: cannot write the result: ${error.message}\n`)
  process.exit(exitCode.mistakes)
}
