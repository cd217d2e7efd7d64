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
  usage: [configUsage],
  options: configOption,
  run: runServer,
}

async function runServer(values: OptionValues, terminal: Terminal): Promise<number> {
  const server = new Server({ mainFile: configFile(values) })
  const stopped = untilStopped()
  const errors = await server.start()
  if (errors.length > 0) {
    for (const error of errors) terminal.err(formatConfigError(error, process.cwd()))
    await server.close()
    return exitCode.mistakes
  }
  process.on('SIGHUP', () => void server.reload())
  process.on('SIGUSR2', () => server.reopenLog())
  await stopped
  await server.close()
  return exitCode.ok
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
