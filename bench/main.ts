// The benchmark: CPU time per request of Hostward beside other proxies, one core each, measured in turns within one run,
// so that whatever else the machine does meets all of them. Read ratios, not times.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate, writePair } from '../test/support/certificates.js'
import { type Payload, siteName } from './heads.js'
import { loadMissing } from './load.js'
import { measure, type Sample, type Subject } from './measure.js'
import { type Options, readOptions, usage } from './options.js'
import { type Origin, startOrigin } from './origin-process.js'
import { stop } from './processes.js'
import { haproxy } from './servers/haproxy.js'
import { hostwardOn } from './servers/hostward.js'
import { httpProxyOn } from './servers/http-proxy.js'
import { nginx } from './servers/nginx.js'
import type { Server, Wire } from './servers/server.js'
import { tableOf } from './table.js'

// Node compiles what is hot within some ten thousand requests; before that it is another program.
const warmUpRequests = 20_000
const bodyWarmUpRequests = 1000

await main()

async function main(): Promise<void> {
  const options = optionsOrUsage(process.argv.slice(2))
  if (loadMissing !== undefined) throw new Error(loadMissing)
  const folder = mkdtempSync(join(tmpdir(), 'hostward-bench-'))
  const origin = await startOrigin()
  const subjects: Subject[] = []
  try {
    for (const server of presentServers(options)) subjects.push(await start({ server, origin, folder }))
    for (const wire of options.wires) {
      for (const payload of options.payloads) await compare({ subjects, wire, payload, options })
    }
  } finally {
    await Promise.all(subjects.map(({ running }) => stop(running.child)))
    await origin.stop()
    rmSync(folder, { recursive: true })
  }
}

function optionsOrUsage(words: readonly string[]): Options {
  try {
    return readOptions(words)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

function presentServers({ nodes, only }: Options): Server[] {
  const servers = [
    ...nodes.map(({ path, version }) => hostwardOn(path, version)),
    nginx,
    haproxy,
    ...nodes.map(({ path, version }) => httpProxyOn(path, version)),
  ]
  const wanted = servers.filter(({ name }) => only.length === 0 || only.some((start) => name.startsWith(start)))
  for (const { name, missing } of wanted) if (missing !== undefined) console.log(`SKIPPED ${name}: ${missing}`)
  return wanted.filter(({ missing }) => missing === undefined)
}

interface Start {
  readonly server: Server
  readonly origin: Origin
  readonly folder: string
}

async function start({ server, origin, folder }: Start): Promise<Subject> {
  const home = join(folder, server.name.replaceAll(' ', '-'))
  mkdirSync(home)
  const files = writePair(home, 'site', await makeCertificate({ names: [siteName] }))
  const setup = { folder: home, certificateFile: files.cert, keyFile: files.key, originPort: origin.port }
  return { server, running: await server.start(setup), origin }
}

interface Comparison {
  readonly subjects: readonly Subject[]
  readonly wire: Wire
  readonly payload: Payload
  readonly options: Options
}

async function compare({ subjects, wire, payload, options }: Comparison): Promise<void> {
  const results = new Map<string, Sample[]>()
  const runs: { subject: Subject; requests: number }[] = []
  for (const subject of subjects.filter(({ server }) => server.wires.includes(wire))) {
    const requests = payload === 'page' ? warmUpRequests : bodyWarmUpRequests
    const { requestsPerSecond } = await measure(subject, { wire, payload, requests })
    runs.push({ subject, requests: Math.ceil(requestsPerSecond * options.seconds) })
    results.set(subject.server.name, [])
  }
  for (let round = 0; round < options.rounds; round += 1) {
    for (const { subject, requests } of runs) {
      results.get(subject.server.name)?.push(await measure(subject, { wire, payload, requests }))
    }
  }
  console.log(
    `\n${wire}, ${payload}, ${options.rounds} rounds of about ${options.seconds} s\n${tableOf(results, 'nginx')}`,
  )
}
