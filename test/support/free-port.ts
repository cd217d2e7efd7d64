// A port for the tests in which the configuration must name one; all others bind to port 0.
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the ports that the system gives away by itself, so that nobody gets ours by chance in between.
const lowest = 20_000
const span = 12_000
let next = process.pid * 97

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    next += 1
    const port = lowest + (next % span)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    // Somebody listens there: the next one, then.
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
