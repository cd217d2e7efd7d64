// The origin as the benchmark sees it: a child process on the load's core that can be asked how much it answered.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { findProgram, loadCore, stop } from './processes.js'

/** A running origin. */
export interface Origin {
  readonly port: number
  /** How many requests it has answered. */
  count(): Promise<number>
  stop(): Promise<void>
}

/** Starts the origin; it answers on its port once this resolves. */
export async function startOrigin(): Promise<Origin> {
  const program = fileURLToPath(new URL('./origin.js', import.meta.url))
  // Through taskset, which becomes the program it starts and so keeps the channel to us.
  const child = fork(program, [], {
    execPath: findProgram('taskset') ?? 'taskset',
    execArgv: ['--cpu-list', String(loadCore), process.execPath],
  })
  const [port] = await once(child, 'message')
  return {
    port,
    count: async () => {
      child.send('count')
      const [count] = await once(child, 'message')
      return count
    },
    stop: () => stop(child),
  }
}
