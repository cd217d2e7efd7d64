// A server in a process of its own, so that a test can weigh what its connections cost: Hostward, or TLS with nothing behind
// it. Sends its port, then its weight for every message; ends with its parent. Needs --expose-gc.
import { setTimeout } from 'node:timers/promises'
import { createServer } from 'node:tls'
import { makeCertificate } from './certificates.js'
import { frameBytes } from './http2-client.js'
import { portOf } from './port.js'
import { RunningServer } from './running-server.js'
import { filesOf, Workspace } from './workspace.js'

/** What a process weighs after its garbage was collected, in bytes. */
export interface Weight {
  readonly rss: number
  readonly heap: number
}

/** SETTINGS, an acknowledgement, and `:status: 200` with END_STREAM. */
const answer = Buffer.concat([frameBytes(4, 0, 0), frameBytes(4, 1, 0), frameBytes(1, 5, 1, Buffer.from([0x88]))])

async function openHostward(): Promise<number> {
  const workspace = new Workspace()
  const certificate = filesOf(await workspace.pair('a', { names: ['a.example'] }))
  const running = await RunningServer.start(
    { vhosts: [{ hosts: ['a.example'], certificate, respond: { status: 200 } }] },
    workspace,
  )
  process.on('exit', () => workspace.remove())
  return running.port()
}

async function openBare(): Promise<number> {
  const { cert, key } = await makeCertificate({ names: ['a.example'] })
  const server = createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    socket.write(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return portOf(server)
}

/** Collects in several turns, since pages of the heap are given back behind the collector's back. */
async function weigh(): Promise<Weight> {
  for (let round = 0; round < 8; round++) {
    globalThis.gc?.()
    await setTimeout(20)
  }
  const { rss, heapUsed } = process.memoryUsage()
  return { rss, heap: heapUsed }
}

process.on('message', async () => process.send?.(await weigh()))
process.on('disconnect', () => process.exit())
process.send?.(await (process.argv[2] === 'bare' ? openBare() : openHostward()))
