// How much memory is in use, for tests that look for what is left behind.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What is reachable; the collector is called by name, because a test has no flag of its own. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
