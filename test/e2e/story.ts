// The model of the story of reloads: two hundred domains that come, go, change, break, are mended and renewed, and what
// each may answer at this moment.
import { rmSync } from 'node:fs'
import type { LogFile, LogLine } from '../support/log-file.js'
import { filesOf, type PairOnDisk, type Workspace } from '../support/workspace.js'

/** Numbers from 0 up to but not including 1, the same for the same seed (a linear congruence is random enough here). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** What is answered where no site claims the host. */
export const nobody = '421'

/** One domain, with all that it may be answered with now: more than one thing while a change is on its way. */
export class Domain {
  readonly host: string
  answers: readonly string[] = [nobody]
  fingerprints: readonly string[] = []
  isBroken = false
  #version = 0

  constructor(index: number) {
    this.host = `domain-${index}.example`
  }

  get isThere(): boolean {
    return this.answers.at(-1) !== nobody
  }

  /** What it is to answer next. */
  next(): string {
    this.#version += 1
    return `${this.host} version ${this.#version}`
  }

  expect(answer: string): void {
    this.answers = [...this.answers, answer]
  }

  settle(): void {
    this.answers = this.answers.slice(-1)
    this.fingerprints = this.fingerprints.slice(-1)
  }
}

/** A change of one domain on disk. */
type Change = 'add' | 'remove' | 'change' | 'break' | 'mend' | 'renew'

const eventOf: Readonly<Record<Change, (host: string) => (line: LogLine) => boolean>> = {
  add: named('added'),
  remove: named('removed'),
  change: named('changed'),
  mend: named('changed'),
  break: (host) => (line) => line['event'] === 'site_degraded' && line['vhost'] === host,
  renew: (host) => (line) => line['event'] === 'certificate_loaded' && String(line['vhosts']) === host,
}

function named(kind: string): (host: string) => (line: LogLine) => boolean {
  return (host) => (line) => {
    if (line['event'] !== 'config_reloaded') return false
    return ((line['vhosts'] as Record<string, string[]>)[kind] ?? []).includes(host)
  }
}

/** Changes domains on disk and knows what follows. */
export class Story {
  readonly domains: readonly Domain[]
  readonly told: string[] = []
  readonly #workspace: Workspace
  readonly #random: () => number
  readonly #pairs = new Map<Domain, PairOnDisk>()

  constructor(count: number, { workspace, random }: { readonly workspace: Workspace; readonly random: () => number }) {
    this.domains = Array.from({ length: count }, (_, index) => new Domain(index))
    this.#workspace = workspace
    this.#random = random
  }

  /** Three of four are there when the story begins. */
  async begin(): Promise<void> {
    for (const [index, domain] of this.domains.entries()) {
      await this.#renew(domain)
      if (index % 4 !== 0) this.#write(domain)
      domain.settle()
    }
  }

  any(): Domain {
    return this.domains[Math.floor(this.#random() * this.domains.length)] as Domain
  }

  /** Changes up to eight domains at once, and resolves when the log says that all of it is in service. */
  async turn(log: LogFile): Promise<void> {
    const chosen = new Set(Array.from({ length: 1 + Math.floor(this.#random() * 8) }, () => this.any()))
    const begun = log.count
    const changes: [Domain, Change][] = []
    for (const domain of chosen) changes.push([domain, await this.#change(domain)])
    for (const [domain, change] of changes) {
      this.told.push(`${change} ${domain.host}`)
      const isEvent = eventOf[change](domain.host)
      await log.until(`${change} ${domain.host}`, () => log.beyond(begun).some(isEvent))
    }
    for (const domain of chosen) domain.settle()
  }

  async #change(domain: Domain): Promise<Change> {
    const dice = this.#random()
    if (!domain.isThere) {
      this.#write(domain)
      return 'add'
    }
    if (dice < 0.2) {
      domain.expect(nobody)
      domain.isBroken = false
      rmSync(this.#workspace.path(fileOf(domain)))
      return 'remove'
    }
    if (domain.isBroken) {
      this.#write(domain)
      return 'mend'
    }
    if (dice < 0.4) {
      domain.isBroken = true
      const mistakes = ['hosts: [', `hosts: [${domain.host}]\nunknown: 1\n`, '']
      this.#workspace.write(fileOf(domain), mistakes[Math.floor(this.#random() * mistakes.length)] ?? '')
      return 'break'
    }
    if (dice < 0.7) {
      await this.#renew(domain)
      return 'renew'
    }
    this.#write(domain)
    return 'change'
  }

  #write(domain: Domain): void {
    const body = domain.next()
    const pair = this.#pairs.get(domain)
    domain.isBroken = false
    domain.expect(body)
    const certificate = pair && filesOf(pair)
    this.#workspace.write(fileOf(domain), { hosts: [domain.host], certificate, respond: { body } })
  }

  async #renew(domain: Domain): Promise<void> {
    const pair = await this.#workspace.pair(`certs/${domain.host}`, { names: [domain.host] })
    this.#pairs.set(domain, pair)
    domain.fingerprints = [...domain.fingerprints, pair.fingerprint256]
  }
}

function fileOf({ host }: Domain): string {
  return `vhosts/${host}.yaml`
}
