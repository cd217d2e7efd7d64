// The story that Hostward exists for: a CDN sends requests for many sites down connections that were opened for others.
// Every body is compared with its domain, every log line with its request.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { LogLine } from '../support/log-file.js'
import { RunningServer } from '../support/running-server.js'
import { type Wire, type WireConnection, wires } from '../support/wires.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'
import { makeSites, type NeighbourSite } from './many-sites.js'

const unknownHosts = ['nobody.example', 'deep.er.wild-1.example', 'wild-1.example', '192.0.2.1', '[2001:db8::1]']

let sites: readonly NeighbourSite[]
let fallback: PairOnDisk
let hostward: RunningServer

before(async () => {
  const workspace = new Workspace()
  sites = await makeSites(workspace)
  fallback = await workspace.pair('certs/fallback', { names: ['fallback.example'] })
  const vhosts = sites.map(({ vhost }) => vhost)
  hostward = await RunningServer.start({ fallbackCertificate: filesOf(fallback), vhosts, reload: {} }, workspace)
})

after(async () => {
  await hostward.close()
  await Promise.all(sites.map(({ upstream }) => upstream.close()))
})

for (const wire of wires) {
  describe(`requests for every site over connections opened for every name, on ${wire.name}`, () => {
    test('each is answered by its own site, one after the other on each connection', async () => {
      const told = new Map<string, Asked>()
      const askAll = async (name: string | undefined): Promise<void> => {
        const connection = await open(wire, name)
        for (const request of requestsOver(name, `serial-${wire.name}`)) {
          await askAndCompare(connection, request)
          told.set(request.path, request)
        }
        connection.close()
      }
      await Promise.all(serverNames().map(askAll))
      await compareLog(wire, told)
    })

    test('each is answered by its own site, all in parallel', async () => {
      const told = new Map<string, Asked>()
      const connections = await Promise.all(
        serverNames().map(async (name) => {
          const connection = await open(wire, name)
          const requests = shuffled(requestsOver(name, `parallel-${wire.name}`))
          for (const request of requests) told.set(request.path, request)
          return { connection, requests }
        }),
      )
      await Promise.all(
        connections.flatMap(({ connection, requests }) =>
          requests.map((request) => askAndCompare(connection, request)),
        ),
      )
      for (const { connection } of connections) {
        assert.equal(connection.isClosed, false)
        connection.close()
      }
      await compareLog(wire, told)
    })

    test('no upstream has seen the name of another site', () => {
      for (const { spellings, upstream } of sites) {
        assert.deepEqual([...upstream.hosts].sort(), [...spellings].sort())
      }
    })
  })
}

/** A request and what it must meet. */
interface Asked {
  readonly path: string
  readonly host: string
  /** Undefined where no site claims the host. */
  readonly site: NeighbourSite | undefined
  readonly sni: string | undefined
}

function serverNames(): readonly (string | undefined)[] {
  return [...sites.map(({ host }) => host), 'nobody.example', undefined]
}

async function open(wire: Wire, name: string | undefined): Promise<WireConnection> {
  const connection = await wire.connect({ port: hostward.port(), servername: name })
  const pair = sites.find(({ host }) => host === name)?.pair ?? fallback
  assert.equal(connection.fingerprint256, pair.fingerprint256, `the certificate for ${name}`)
  return connection
}

/** One request for each site, each in one of its spellings, and one for each unknown host. */
function requestsOver(sni: string | undefined, label: string): Asked[] {
  const turn = serverNames().indexOf(sni)
  const known = sites.map((site, index) => ({
    site,
    host: site.spellings[(turn + index) % site.spellings.length] ?? '',
  }))
  const unknown = unknownHosts.map((host) => ({ site: undefined, host }))
  return [...known, ...unknown].map((asked, index) => ({
    ...asked,
    sni,
    path: `/${label}/${turn}/${index}?q=${index}`,
  }))
}

async function askAndCompare(connection: WireConnection, { host, path, site, sni }: Asked): Promise<void> {
  const answer = await connection.ask(host, path)
  const over = `${host} over a connection for ${sni}`
  assert.equal(answer.isLast, false, over)
  if (site === undefined) {
    assert.equal(answer.status, 421, over)
    return
  }
  assert.deepEqual(
    { status: answer.status, body: answer.body },
    { status: 200, body: site.upstream.bodyFor(path) },
    over,
  )
}

async function compareLog(wire: Wire, told: ReadonlyMap<string, Asked>): Promise<void> {
  const lines = await hostward.log.all(`the lines of ${told.size} requests`, told.size, ({ target }) => {
    return told.has(String(target))
  })
  assert.equal(lines.length, told.size)
  const connections = new Map<unknown, unknown>()
  for (const line of lines) {
    const asked = told.get(String(line['target']))
    assert.ok(asked)
    compareLine(line, asked, wire)
    assert.equal(connections.get(line['connectionId']) ?? asked.sni, asked.sni)
    connections.set(line['connectionId'], asked.sni)
  }
}

function compareLine(line: LogLine, { site, host, sni }: Asked, wire: Wire): void {
  const { vhost, status, reason, upstream, generation, protocol, listener } = line
  assert.deepEqual(
    { vhost, host: line['host'], sni: line['sni'], status, reason, upstream, generation, protocol, listener },
    {
      vhost: site?.pattern ?? null,
      host: site?.host ?? host.replace(/[[\]]/g, ''),
      sni: sni ?? null,
      status: site === undefined ? 421 : 200,
      reason: site === undefined ? 'unknown_host' : 'ok',
      upstream: site?.upstream.url ?? null,
      generation: 1,
      protocol: wire.name,
      listener: 'public',
    },
  )
}

/** The same every time, and in no order that a table has. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item, index) => ({ item, at: (index * 7919) % items.length }))
    .sort((left, right) => left.at - right.at)
    .map(({ item }) => item)
}
