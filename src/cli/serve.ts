// hostward serve: runs until it is told to stop. SIGHUP reads the files again, SIGUSR2 reopens the log.
import { formatConfigError } from '../config/config-error.js'
import { Server } from '../server/server.js'
import {
  type Command,
  configFile,
  configOption,
  configUsage,
  exitCode,
  type OptionValues,
  type Terminal,
} from './command.js'

/** The command. */
export const serve: Command = {
  name: 'serve',
  summary: 'end TLS and route every request on its own Host',
  usage: [configUsage, '--strict             end the start with 1 where a site does not serve as configured'],
  details: [
    'The log goes to standard output as JSON lines, or to log.file.',
    'Signals: SIGTERM and SIGINT finish what is in flight and stop (a second one does not wait),',
    'SIGHUP reads the configuration again, SIGUSR2 opens the log file anew.',
    'Exit codes: 0 stopped as asked, 1 the first configuration cannot be served, 2 usage.',
  ],
  options: { ...configOption, strict: { type: 'boolean' } },
  run: runServer,
}

async function runServer(values: OptionValues, terminal: Terminal): Promise<number> {
  const server = new Server({ mainFile: configFile(values), isStrict: values['strict'] === true })
  const stopped = untilStopped()
  // A mistake of ours on one connection must not end the others: it is told in the log, with all that is known.
  process.setUncaughtExceptionCaptureCallback(null)
  process.setUncaughtExceptionCaptureCallback((error) => server.reportBug(error))
  // Before the start: a signal that nobody listens for would end the process.
  process.on('SIGHUP', () => void server.reload())
  process.on('SIGUSR2', () => server.reopenLog())
  const errors = await server.start()
  if (errors.length === 0) await stopped
  for (const error of errors) terminal.err(formatConfigError(error, process.cwd()))
  await server.close()
  return errors.length === 0 ? exitCode.ok : exitCode.mistakes
}

/** The first signal asks to finish; a second one does not want to wait. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    const stop = (): void => {
      if (isStopping) process.exit(exitCode.mistakes)
      isStopping = true
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
