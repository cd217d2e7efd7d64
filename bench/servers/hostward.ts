// Hostward as it was built, with its default settings.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { siteName } from '../heads.js'
import { serverCore, spawnPinned, untilReady } from '../processes.js'
import type { Server, Setup } from './server.js'

const program = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** Hostward on one Node binary. */
export function hostwardOn(node: string, nodeVersion: string): Server {
  return {
    name: `hostward on Node ${nodeVersion}`,
    wires: ['h1', 'h2'],
    missing: existsSync(program) ? undefined : `${program} is not built`,
    logMarker: '"event":"request"',
    async start(setup) {
      const logFile = `${setup.folder}/hostward.log`
      const configFile = `${setup.folder}/hostward.yaml`
      writeFileSync(configFile, configuration(setup, logFile))
      const command = [node, program, 'serve', '-c', configFile]
      const child = spawnPinned(serverCore, command, { stdio: ['ignore', 'inherit', 'inherit'] })
      await untilReady(child, () => listeningPort(logFile) !== undefined)
      return { child, port: listeningPort(logFile) ?? 0, logFile }
    },
  }
}

function configuration(setup: Setup, logFile: string): string {
  return `listeners:
  - name: public
    bind: "127.0.0.1:0"
    http2: true
vhosts:
  - hosts: [${siteName}]
    certificate: { cert: ${setup.certificateFile}, key: ${setup.keyFile} }
    upstream: http://127.0.0.1:${setup.originPort}
log:
  level: info
  access: true
  file: ${logFile}
`
}

function listeningPort(logFile: string): number | undefined {
  if (!existsSync(logFile)) return undefined
  const lines = readFileSync(logFile, 'utf8').split('\n').slice(0, -1)
  const listening = lines.map((line) => JSON.parse(line)).find(({ event }) => event === 'listening')
  return listening?.port
}
