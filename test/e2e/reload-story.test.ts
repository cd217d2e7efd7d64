// Two hundred domains under requests on connections that were opened for other names, while domains come, go, change, break, are
// mended and renewed at random. HOSTWARD_STORY_SEED tells the same story again, HOSTWARD_STORY_SECONDS a longer one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogLine } from '../support/log-file.js'
import { RunningServer } from '../support/running-server.js'
import { type Answer, type WireConnection, wires } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'
import { type Domain, nobody, randomFrom, Story } from './story.js'

const seed = Number(process.env['HOSTWARD_STORY_SEED'] ?? Date.now() % 1_000_000)
const lastsMs = Number(process.env['HOSTWARD_STORY_SECONDS'] ?? 20) * 1_000
const connectionsAWire = 6
const askedAtOnce = 4

test('no answer comes from a wrong site and no connection is lost while two hundred domains change', async (t) => {
  t.diagnostic(`HOSTWARD_STORY_SEED=${seed}`)
  const workspace = new Workspace()
  const random = randomFrom(seed)
  const story = new Story(200, { workspace, random })
  await story.begin()
  const fallback = await workspace.pair('fallback', { names: ['fallback.example'] })
  const main = { fallbackCertificate: filesOf(fallback), include: ['vhosts/*.yaml'] }
  const running = await RunningServer.startFor(t, main, workspace)
  const asking = new Asking(story, running)
  await asking.start()
  const endMs = performance.now() + lastsMs
  while (performance.now() < endMs && asking.mistakes.length === 0) await story.turn(running.log)
  await asking.stop()
  const summary = `seed ${seed}, the last changes: ${story.told.slice(-20).join(', ')}`
  assert.deepEqual(asking.mistakes, [], summary)
  t.diagnostic(`${asking.answered} answers, ${story.told.length} changes`)
  assert.ok(asking.answered > 0 && story.told.length > 0)
  const isRequest = ({ event }: LogLine): boolean => event === 'request'
  await running.log.all('a line of each request', asking.answered, isRequest)
  assert.deepEqual(misjudged(story, running.log.lines()), [], summary)
})

/** Connections that ask for domains at random, and open anew only to see which certificate is shown. */
class Asking {
  answered = 0
  readonly mistakes: string[] = []
  readonly #story: Story
  readonly #running: RunningServer
  #isStopping = false
  #loops: Promise<unknown>[] = []

  constructor(story: Story, running: RunningServer) {
    this.#story = story
    this.#running = running
  }

  async start(): Promise<void> {
    for (const wire of wires) {
      for (let index = 0; index < connectionsAWire; index += 1) {
        const servername = this.#story.any().host
        const connection = await wire.connect({ port: this.#running.port(), servername })
        this.#loops.push(this.#askOn(connection, `${wire.name} opened for ${servername}`))
      }
      this.#loops.push(this.#shakeHands(wire))
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  async #askOn(connection: WireConnection, name: string): Promise<void> {
    while (!this.#isStopping) {
      await Promise.all(Array.from({ length: askedAtOnce }, () => this.#ask(connection, name)))
    }
    if (connection.isClosed) this.mistakes.push(`${name} was closed`)
    connection.close()
  }

  async #ask(connection: WireConnection, name: string): Promise<void> {
    const domain = this.#story.any()
    const before = domain.answers
    try {
      const answer = await connection.ask(domain.host)
      this.answered += 1
      if (answer.isLast) this.mistakes.push(`${name} was told that it ends`)
      const said = answer.status === 200 ? answer.body : String(answer.status)
      if (![...before, ...domain.answers].includes(said)) this.#blame(domain, name, said, before)
    } catch (error) {
      this.mistakes.push(`${name} got no answer for ${domain.host}: ${error}`)
      this.#isStopping = true
    }
  }

  #blame({ host, answers }: Domain, name: string, said: string, before: readonly string[]): void {
    this.mistakes.push(`${host} on ${name} answered "${said}"; "${before.join()}" or "${answers.join()}" is right`)
  }

  async #shakeHands(wire: (typeof wires)[number]): Promise<void> {
    while (!this.#isStopping) {
      const domain = this.#story.any()
      const before = [...domain.answers, ...domain.fingerprints]
      const connection = await wire.connect({ port: this.#running.port(), servername: domain.host })
      const allowed = [...before, ...domain.answers, ...domain.fingerprints]
      const mayBeNobody = allowed.includes(nobody)
      if (!mayBeNobody && !allowed.includes(connection.fingerprint256)) {
        this.mistakes.push(`a handshake for ${domain.host} showed another certificate`)
      }
      connection.close()
    }
  }
}

/** Requests whose answer contradicts the configuration of the generation that their line names. */
function misjudged({ domains }: Story, lines: readonly LogLine[]): readonly LogLine[] {
  const known = new Set(domains.map(({ host }) => host))
  const isThere = new Map<number, ReadonlySet<string>>()
  let there: ReadonlySet<string> = new Set(domains.filter((_, index) => index % 4 !== 0).map(({ host }) => host))
  isThere.set(1, there)
  for (const line of lines.filter(({ event }) => event === 'config_reloaded')) {
    const { added = [], removed = [] } = line['vhosts'] as Record<string, string[]>
    there = new Set([...[...there].filter((host) => !removed.includes(host)), ...added])
    isThere.set(Number(line['generation']), there)
  }
  return lines.filter(({ event, host, generation, status }) => {
    if (event !== 'request' || !known.has(String(host))) return false
    const answer: Answer['status'] = isThere.get(Number(generation))?.has(String(host)) === true ? 200 : 421
    return status !== answer
  })
}
