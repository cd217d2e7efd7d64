// The same story while the configuration never stands still: sites come, go, move and are renewed under live connections.
// The generation on each log line says which configuration answered, and that one must be right.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { LogLine } from '../support/log-file.js'
import { NamedUpstream } from '../support/named-upstream.js'
import { RunningServer } from '../support/running-server.js'
import { type Wire, type WireConnection, wires } from '../support/wires.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'
import { makeSite, makeSites, type NeighbourSite } from './many-sites.js'

const rounds = 3

for (const wire of wires) {
  describe(`requests for every site while the configuration changes, on ${wire.name}`, () => {
    let sites: readonly NeighbourSite[]
    let guest: NeighbourSite
    let mover: NeighbourSite
    let elsewhere: NamedUpstream
    let fallback: PairOnDisk
    let hostward: RunningServer

    before(async () => {
      const workspace = new Workspace()
      sites = await makeSites(workspace)
      guest = await makeSite('guest.example', workspace)
      mover = await makeSite('mover.example', workspace)
      elsewhere = await NamedUpstream.open('elsewhere')
      fallback = await workspace.pair('certs/fallback', { names: ['fallback.example'] })
      workspace.write('vhosts/mover.yaml', mover.vhost)
      const main = { fallbackCertificate: filesOf(fallback), include: ['vhosts/*.yaml'] }
      hostward = await RunningServer.start({ ...main, vhosts: sites.map(({ vhost }) => vhost) }, workspace)
    })

    after(async () => {
      await hostward.close()
      await Promise.all([...sites, guest, mover].map(({ upstream }) => upstream.close()))
      await elsewhere.close()
    })

    test('none is answered by another site, and no connection is lost', async () => {
      const { workspace, log } = hostward
      const upstreams = new Map<number, Upstreams>([[1, { mover: mover.upstream.url, guest: null }]])
      const asking = new Asking(wire, hostward, { sites, guest, mover, elsewhere })
      await asking.start([...sites.slice(0, 6).map(({ host }) => host), 'mover.example', 'nobody.example', undefined])

      const inService = async ({ generation }: LogLine, what: Upstreams): Promise<void> => {
        upstreams.set(Number(generation), what)
        // Every configuration answers each connection at least once.
        await asking.untilAllAnswered()
      }
      const change = async (what: Upstreams, edit: () => unknown): Promise<void> => {
        await inService(await log.after(edit, { event: 'config_reloaded' }), what)
      }
      // The halves may be seen one by one, each of which is a generation of its own and moves no site.
      const renew = async (what: Upstreams, { host, pattern }: NeighbourSite): Promise<void> => {
        const edit = (): unknown => workspace.pair(`certs/${host}`, { names: [pattern] })
        const loaded = await log.after(edit, { event: 'certificate_loaded' })
        const reloaded = await log.following(loaded, { event: 'config_reloaded' })
        const told = Math.max(...upstreams.keys())
        for (let step = told + 1; step < Number(reloaded['generation']); step++) upstreams.set(step, what)
        await inService(reloaded, what)
      }
      for (let round = 1; round <= rounds; round++) {
        const away = { mover: elsewhere.url, guest: guest.upstream.url }
        await change({ mover: mover.upstream.url, guest: guest.upstream.url }, () => {
          workspace.write('vhosts/guest.yaml', guest.vhost)
        })
        await change(away, () => workspace.write('vhosts/mover.yaml', { ...mover.vhost, upstream: elsewhere.url }))
        await change(away, () => hostward.change({ timeouts: { shutdownMs: 5_000 + round } }))
        await renew(away, sites[round] ?? mover)
        await change({ mover: mover.upstream.url, guest: guest.upstream.url }, () => {
          workspace.write('vhosts/mover.yaml', mover.vhost)
        })
        await change({ mover: mover.upstream.url, guest: null }, () => {
          rmSync(workspace.path('vhosts/guest.yaml'))
        })
      }

      await asking.stop()
      assert.deepEqual(asking.mistakes, [])
      assert.ok(asking.answered > 1_000, `there were ${asking.answered} answers`)
      const lines = await log.all('all requests', asking.answered, ({ event }) => event === 'request')
      assert.equal(lines.length, asking.answered)
      tellIdle(log.lines({ event: 'config_reloaded' }), upstreams)
      for (const line of lines) compareLine(line, upstreams, [...sites, guest, mover])
    })
  })
}

/** Where a configuration sends the sites that do not stay as they are; null is nowhere. */
interface Upstreams {
  readonly mover: string
  readonly guest: string | null
}

interface Cast {
  readonly sites: readonly NeighbourSite[]
  readonly guest: NeighbourSite
  readonly mover: NeighbourSite
  readonly elsewhere: NamedUpstream
}

/** Connections that ask without pause, each for one host after the other. */
class Asking {
  answered = 0
  readonly mistakes: string[] = []
  readonly #wire: Wire
  readonly #hostward: RunningServer
  readonly #cast: Cast
  readonly #rounds = new Map<number, number>()
  #loops: Promise<void>[] = []
  #isStopping = false

  constructor(wire: Wire, hostward: RunningServer, cast: Cast) {
    this.#wire = wire
    this.#hostward = hostward
    this.#cast = cast
  }

  async start(serverNames: readonly (string | undefined)[]): Promise<void> {
    const port = this.#hostward.port()
    const connections = await Promise.all(serverNames.map((servername) => this.#wire.connect({ port, servername })))
    this.#loops = connections.map((connection, index) => this.#askOn(connection, index))
  }

  /** Resolves when every connection has been asked for every host again. */
  async untilAllAnswered(): Promise<void> {
    const before = new Map(this.#rounds)
    // A round may have begun before this moment, so the second from here has wholly come after it.
    const isDone = (): boolean =>
      this.mistakes.length > 0 || this.#loops.every((_, index) => this.#roundOf(index) >= (before.get(index) ?? 0) + 2)
    await this.#hostward.log.until('all connections are asked for all hosts', isDone)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  #roundOf(index: number): number {
    return this.#rounds.get(index) ?? 0
  }

  async #askOn(connection: WireConnection, index: number): Promise<void> {
    const { sites, guest, mover } = this.#cast
    const neighbours = [0, 1, 2].map((step) => sites[(index * 3 + step) % sites.length] ?? mover)
    while (!this.#isStopping) {
      const path = `/${index}/${this.#roundOf(index)}`
      const asked = [
        ...[...neighbours, mover, guest].map((site) => this.#ask(connection, path, site)),
        this.#ask(connection, path, undefined),
      ]
      await Promise.all(asked)
      this.#rounds.set(index, this.#roundOf(index) + 1)
    }
    if (connection.isClosed) this.mistakes.push(`connection ${index} was closed`)
    connection.close()
  }

  async #ask(connection: WireConnection, path: string, site: NeighbourSite | undefined): Promise<void> {
    const host = site?.host ?? 'nobody.example'
    try {
      const { status, body, isLast } = await connection.ask(host, path)
      this.answered += 1
      if (isLast) this.mistakes.push(`${host} was told that the connection ends`)
      if (!this.#isRight(site, path, { status, body })) this.mistakes.push(`${host} got ${status} ${body}`)
    } catch (error) {
      this.mistakes.push(`${host} got no answer: ${error}`)
      this.#isStopping = true
    }
  }

  #isRight(site: NeighbourSite | undefined, path: string, answer: { status: number; body: string }): boolean {
    const { guest, mover, elsewhere } = this.#cast
    if (site === undefined || (site === guest && answer.status !== 200)) return answer.status === 421
    const bodies = [site.upstream.bodyFor(path), ...(site === mover ? [elsewhere.bodyFor(path)] : [])]
    return answer.status === 200 && bodies.includes(answer.body)
  }
}

/** A reload that finds nothing changed, by its own line, means what the one before it does. */
function tellIdle(reloads: readonly LogLine[], upstreams: Map<number, Upstreams>): void {
  for (const { generation, added, removed, changed } of reloads) {
    const before = upstreams.get(Number(generation) - 1)
    const isIdle = added === 0 && removed === 0 && changed === 0
    if (isIdle && before !== undefined && !upstreams.has(Number(generation))) upstreams.set(Number(generation), before)
  }
}

function compareLine(line: LogLine, upstreams: ReadonlyMap<number, Upstreams>, sites: readonly NeighbourSite[]): void {
  const { host, vhost, status, reason, upstream, generation } = line
  const served = upstreams.get(Number(generation))
  assert.ok(served, `generation ${generation} is one that was told`)
  const site = sites.find((each) => each.host === host)
  const moving = new Map([
    ['mover.example', served.mover],
    ['guest.example', served.guest],
  ])
  const expected = moving.get(String(host)) ?? (host === 'guest.example' ? null : (site?.upstream.url ?? null))
  const facts = expected === null ? { status: 421, reason: 'unknown_host' } : { status: 200, reason: 'ok' }
  const name = expected === null ? null : site?.pattern
  assert.deepEqual({ vhost, status, reason, upstream }, { vhost: name, ...facts, upstream: expected })
}
