// The benchmark of reloads: thousands of sites, each in a file of its own with a certificate of its own, under traffic.
// `npm run bench:reload -- --sites 1000` for a quick look. Times are of this machine as it is: let it be quiet.
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { accepts, cpuMicroseconds, freePort, stop } from '../processes.js'
import { haproxy, hostward, nginx, type Peer, rememberPort, writeSite } from './peers.js'
import { hostOf, makeSites, type Sites } from './sites.js'
import { Client, Traffic } from './traffic.js'

const changes = 20
const connections = 64
const deadlineMs = 600_000
/** A look is a connection, and whoever starts should have the machine to himself. */
const acceptLookMs = 20
/** How often the memory is looked at while reloads go on. */
const memoryLooks = 10

await main()

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      sites: { type: 'string', default: '10000' },
      reloads: { type: 'string', default: '100' },
      only: { type: 'string', default: 'hostward,nginx,haproxy' },
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'hostward-bench-'))
  try {
    const sites = await makeSites(folder, Number(values.sites))
    for (const peer of [hostward, nginx, haproxy].filter(({ name }) => values.only.split(',').includes(name))) {
      if (peer.missing === undefined) await measure(peer, { sites, reloads: Number(values.reloads) })
      else console.log(`SKIPPED ${peer.name}: ${peer.missing}`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Plan {
  readonly sites: Sites
  readonly reloads: number
}

async function measure(peer: Peer, { sites, reloads }: Plan): Promise<void> {
  const port = await freePort()
  peer.configure(sites, port)
  const startedMs = performance.now()
  const server = peer.start(sites)
  rememberPort(server, port)
  const traffic = new Traffic()
  try {
    await until('it accepts', () => accepts(port), acceptLookMs)
    tell(peer, 'cold start until accepting', `${ms(startedMs)} ms, ${cpuMs(server)} ms of CPU`)
    await delay(2_000)
    const restKiB = residentKiB(server)
    tell(peer, 'memory at rest', `${Math.round(restKiB / 1024)} MiB, ${(restKiB / sites.count).toFixed(1)} KiB a site`)
    traffic.start(sites, { port, connections })
    await changeOne(peer, { sites, server, port })
    if (peer === hostward) await touchAll(sites, server)
    await reloadOften(peer, { sites, server, port, reloads, traffic })
  } finally {
    await traffic.end()
    await stop(server)
  }
}

interface Running {
  readonly sites: Sites
  readonly server: ChildProcess
  readonly port: number
}

/** From the writing of one site's file until an open connection, or of those who close it a new one, shows the change. */
async function changeOne(peer: Peer, running: Running): Promise<void> {
  const timesMs: number[] = []
  const cpuBefore = cpuMs(running.server)
  for (let turn = 0; turn < (peer === hostward ? changes : 3); turn += 1) {
    timesMs.push(await changed(peer, running, `change-${turn}`))
    await delay(300)
  }
  const median = timesMs.sort((left, right) => left - right)[timesMs.length >> 1]
  tell(
    peer,
    'one site changed until it shows',
    `median ${median?.toFixed(0)} ms, worst ${timesMs.at(-1)?.toFixed(0)} ms`,
  )
  const { length } = timesMs
  tell(peer, 'CPU a change, traffic included', `${((cpuMs(running.server) - cpuBefore) / length).toFixed(0)} ms`)
  if (peer === hostward) tell(peer, 'longest slice of a change', `${blockedMs(running.sites).toFixed(1)} ms`)
}

async function changed(peer: Peer, { sites, server, port }: Running, body: string): Promise<number> {
  let client: Client | undefined = await Client.open(port, hostOf(0))
  const startedMs = performance.now()
  peer.change(sites, body, server)
  await until(`site 0 answers ${body}`, async () => {
    // Others keep an open connection on what was configured when it was opened.
    if (peer !== hostward || client?.isClosed !== false) {
      client?.close()
      client = await Client.open(port, hostOf(0)).catch(() => undefined)
    }
    return (await client?.ask(hostOf(0))) === body
  })
  client.close()
  return performance.now() - startedMs
}

/** All files are touched; then all are changed. */
async function touchAll(sites: Sites, server: ChildProcess): Promise<void> {
  const before = { cpu: cpuMs(server), ms: performance.now() }
  const now = new Date()
  for (let index = 0; index < sites.count; index += 1) utimesSync(join(sites.folder, `vhosts/${index}.yaml`), now, now)
  const reloadsBefore = reloadLines(sites).length
  writeSite(sites, 0, 'touched')
  await until('the reload', () => reloadLines(sites).length > reloadsBefore)
  tell(
    hostward,
    'all files touched',
    `${ms(before.ms)} ms, ${(cpuMs(server) - before.cpu).toFixed(0)} ms of CPU, longest slice ${blockedMs(sites, 1)} ms`,
  )
  const changing = { cpu: cpuMs(server), ms: performance.now() }
  for (let index = 0; index < sites.count; index += 1) writeSite(sites, index, 'again')
  await until('the reload of all', () => {
    const done = reloadLines(sites)
      .slice(reloadsBefore)
      .reduce((sum, line) => sum + Number(line['changed']), 0)
    return done > sites.count
  })
  tell(
    hostward,
    'all files changed',
    `${ms(changing.ms)} ms, ${(cpuMs(server) - changing.cpu).toFixed(0)} ms of CPU, longest slice ${blockedMs(sites, 1)} ms`,
  )
}

async function reloadOften(peer: Peer, running: Running & { reloads: number; traffic: Traffic }): Promise<void> {
  const { server, reloads, traffic } = running
  const turns = peer === hostward ? reloads : 3
  const before = { ...traffic.count }
  const mib = [residentMiB(server)]
  for (let turn = 0; turn < turns; turn += 1) {
    await changed(peer, running, `turn-${turn}`)
    if ((turn + 1) % Math.ceil(turns / memoryLooks) === 0) mib.push(residentMiB(server))
  }
  const { requests, failed, closed } = traffic.count
  const facts = `${requests - before.requests} requests, ${failed - before.failed} failed, ${closed - before.closed} connections closed`
  tell(peer, `${turns} reloads under traffic`, facts)
  tell(peer, 'memory before, between and after them', `${mib.join(', ')} MiB`)
}

function tell({ name }: Peer, what: string, result: string): void {
  console.log(`${name.padEnd(10)} ${what.padEnd(36)} ${result}`)
}

function ms(startedMs: number): string {
  return (performance.now() - startedMs).toFixed(0)
}

function cpuMs({ pid = 0 }: ChildProcess): number {
  return Math.round(cpuMicroseconds(pid) / 1000)
}

function residentKiB({ pid = 0 }: ChildProcess): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return [String(pid), ...children].reduce((sum, each) => {
    return sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1] ?? 0)
  }, 0)
}

function residentMiB(server: ChildProcess): number {
  return Math.round(residentKiB(server) / 1024)
}

function reloadLines({ folder }: Sites): Record<string, unknown>[] {
  const file = join(folder, 'hostward.log')
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return []
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"config_reloaded"'))
  return lines.map((line) => JSON.parse(line))
}

/** The longest time for which one of the last reloads blocked the loop, as the log tells. */
function blockedMs(sites: Sites, last = changes): number {
  return Math.max(
    ...reloadLines(sites)
      .slice(-last)
      .map((line) => Number(line['blockedMs'])),
  )
}

async function until(what: string, isSo: () => boolean | Promise<boolean>, lookMs = 2): Promise<void> {
  const startedMs = performance.now()
  while (!(await isSo())) {
    if (performance.now() - startedMs > deadlineMs) throw new Error(`not within ten minutes: ${what}`)
    await delay(lookMs)
  }
}
