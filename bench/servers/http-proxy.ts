// http-proxy behind Node's https server, the usual way to do this in Node. It throws on HTTP/2, so it is measured on h1.
import { fileURLToPath } from 'node:url'
import { accepts, freePort, serverCore, spawnPinned, untilReady } from '../processes.js'
import type { Server } from './server.js'

const program = fileURLToPath(new URL('./http-proxy-program.js', import.meta.url))

/** http-proxy on one Node binary. */
export function httpProxyOn(node: string, nodeVersion: string): Server {
  return {
    name: `http-proxy on Node ${nodeVersion}`,
    wires: ['h1'],
    missing: isInstalled() ? undefined : 'http-proxy is not installed',
    logMarker: '"method":"GET"',
    async start(setup) {
      const port = await freePort()
      const logFile = `${setup.folder}/access.log`
      const command = [node, '--no-deprecation', program, JSON.stringify({ ...setup, port, logFile })]
      const child = spawnPinned(serverCore, command, { stdio: ['ignore', 'inherit', 'inherit'] })
      await untilReady(child, () => accepts(port))
      return { child, port, logFile }
    },
  }
}

function isInstalled(): boolean {
  try {
    return import.meta.resolve('http-proxy') !== ''
  } catch {
    return false
  }
}
