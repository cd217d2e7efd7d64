// A server in a process of its own, so that a test can weigh what its connections cost: Hostward, or TLS with nothing behind
// it. Sends its port, then for every message, a number, its weight with as many connections; ends with its parent. Needs --expose-gc.
import { subscribe } from 'node:diagnostics_channel'
import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
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

/** The sockets that the server in this process has accepted, whichever it is. */
class OpenSockets extends EventEmitter {
  #count = 0

  constructor() {
    super()
    subscribe('net.server.socket', (message) => this.#accepted((message as { readonly socket: Socket }).socket))
  }

  async are(count: number): Promise<void> {
    while (this.#count !== count) await once(this, 'change')
  }

  #accepted(socket: Socket): void {
    this.#count++
    socket.once('close', () => {
      this.#count--
      this.emit('change')
    })
    this.emit('change')
  }
}

const roundsMax = 30
/** Pages of the heap are given back behind the collector's back, so one round that finds nothing says little. */
const idleRoundsMin = 4

/** Collects, each round in a turn of its own, until that makes nothing lighter any more. */
async function weigh(): Promise<Weight> {
  let lightest = { rss: Number.POSITIVE_INFINITY, heap: Number.POSITIVE_INFINITY }
  for (let round = 0, idle = 0; round < roundsMax && idle < idleRoundsMin; round++) {
    await globalThis.gc?.({ type: 'major', execution: 'async' })
    const { rss, heapUsed: heap } = process.memoryUsage()
    idle = rss < lightest.rss || heap < lightest.heap ? 0 : idle + 1
    lightest = { rss: Math.min(rss, lightest.rss), heap: Math.min(heap, lightest.heap) }
  }
  return lightest
}

const sockets = new OpenSockets()

process.on('message', async (count: number) => {
  await sockets.are(count)
  process.send?.(await weigh())
})
process.on('disconnect', () => process.exit())
process.send?.(await (process.argv[2] === 'bare' ? openBare() : openHostward()))
