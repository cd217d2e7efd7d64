// All renewal tools at work at once, on one server under handshakes. Used by certificate-renewal.test.ts.
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type CertificatePair, makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'
import type { LogFile } from '../support/log-file.js'
import { RunningServer } from '../support/running-server.js'
import type { Http1Client } from '../support/wires.js'
import { Workspace } from '../support/workspace.js'
import { type Caller, Handshakes } from './handshakes.js'
import type { Step } from './renewal-moves.js'
import { type RenewalTool, renewalTools } from './renewal-tools.js'

/** A tool at work: where, for whom, and what it has made last. */
interface Renewed {
  readonly tool: RenewalTool
  readonly directory: string
  readonly callers: readonly Caller[]
  serving: CertificatePair
}

/** For every tool two sites that share a pair, a neighbour with its own, and clients that verify what each of them shows. */
export class Stage {
  readonly handshakes: Handshakes
  readonly open: Http1Client
  readonly #running: RunningServer
  readonly #issuer: TestAuthority
  readonly #renewed: readonly Renewed[]
  #polls = 0

  private constructor(parts: StageParts) {
    this.handshakes = parts.handshakes
    this.open = parts.open
    this.#running = parts.running
    this.#issuer = parts.issuer
    this.#renewed = parts.renewed
  }

  /** Lays out the first pairs and starts everything. Close it at the end. */
  static async start(): Promise<Stage> {
    const workspace = new Workspace()
    const issuer = await makeAuthority({ commonName: 'issuing', issuer: await makeAuthority({ commonName: 'root' }) })
    const renewed: Renewed[] = []
    for (const tool of renewalTools) renewed.push(await firstIssue({ tool, workspace, issuer, index: renewed.length }))
    const neighbour = await makeCertificate({ names: ['neighbour.example'], issuer })
    workspace.write(other.cert, neighbour.chain)
    workspace.write(other.key, neighbour.key)
    await writeWitnesses(workspace)
    const vhosts = [
      ...renewed.flatMap(sitesOf),
      { hosts: ['neighbour.example'], certificate: other, respond: {} },
      { hosts: ['witness.example'], certificate: witness, respond: {} },
    ]
    const running = await RunningServer.start({ reload: often, vhosts }, workspace)
    const handshakes = new Handshakes({ port: running.port(), root: issuer.root })
    for (const { callers, serving } of renewed) for (const caller of callers) handshakes.add(caller, serving)
    handshakes.add({ servername: 'neighbour.example' }, neighbour)
    return new Stage({ running, renewed, issuer, handshakes, open: await running.connect('neighbour.example') })
  }

  get log(): LogFile {
    return this.#running.log
  }

  /** What the tool of this number in the table has last put where, and for which sites. */
  outcomeOf(index: number): { certificate: string; serving: CertificatePair; names: readonly string[] } {
    const renewed = this.#renewed[index]
    assert.ok(renewed)
    const { tool, directory, callers, serving } = renewed
    return { certificate: join(directory, tool.cert), serving, names: callers.map(({ servername }) => servername) }
  }

  /** One renewal by each tool. Each step is followed by a poll, the last one by a poll that began after it. */
  async renew(turn: number): Promise<void> {
    const works = await Promise.all(this.#renewed.map((renewed) => this.#begin(renewed, turn)))
    for (let index = 0; works.some(({ steps }) => index <= steps.length); index++) {
      for (const { steps } of works) steps[index]?.()
      await this.#poll()
      for (const { steps, finish } of works) if (index === steps.length) finish()
    }
    await this.handshakes.round()
  }

  async close(): Promise<void> {
    await this.handshakes.stop()
    await this.#running.close()
  }

  async #begin(renewed: Renewed, turn: number): Promise<{ steps: readonly Step[]; finish: () => void }> {
    const { tool, directory, callers, serving } = renewed
    const key = tool.keepsKey ? serving : undefined
    const pair = await makeCertificate({
      names: callers.map(({ servername }) => servername),
      issuer: this.#issuer,
      key,
    })
    for (const caller of callers) this.handshakes.allowAlso(caller, pair)
    const finish = (): void => {
      for (const caller of callers) this.handshakes.allowOnly(caller, pair)
      renewed.serving = pair
    }
    return { steps: tool.steps({ directory, pair, turn }), finish }
  }

  // A link two directories up from a file is seen by no signal, only by a poll, which looks at everything else too. The first
  // such poll may have begun before what was done last; the second has not.
  async #poll(): Promise<void> {
    this.#polls += 1
    showWitness(this.#running.workspace, this.#polls)
    const certificate = this.#running.workspace.path(witness.cert)
    await this.log.line({ event: 'certificate_loaded', certificate }, 1 + this.#polls)
  }
}

interface StageParts {
  readonly running: RunningServer
  readonly renewed: readonly Renewed[]
  readonly issuer: TestAuthority
  readonly handshakes: Handshakes
  readonly open: Http1Client
}

interface FirstIssue {
  readonly tool: RenewalTool
  readonly workspace: Workspace
  readonly issuer: TestAuthority
  readonly index: number
}

async function firstIssue({ tool, workspace, issuer, index }: FirstIssue): Promise<Renewed> {
  const names = ['one', 'two'].map((name) => `${name}.tool${index}.example`)
  const directory = workspace.path(`tool${index}`)
  mkdirSync(directory)
  const serving = await makeCertificate({ names, issuer })
  for (const step of tool.steps({ directory, pair: serving, turn: 0 })) step()
  return { tool, directory, callers: names.map((servername) => ({ servername })), serving }
}

function sitesOf({ tool, directory, callers }: Renewed): object[] {
  const certificate = { cert: join(directory, tool.cert), key: join(directory, tool.key) }
  return callers.map(({ servername }) => ({ hosts: [servername], certificate, respond: {} }))
}

const often = { debounceMs: 5, pollMs: 20 }
const other = { cert: 'other.pem', key: 'other.key' }
const witness = { cert: 'witness/current/etc/site.pem', key: 'witness/current/etc/site.key' }

async function writeWitnesses(workspace: Workspace): Promise<void> {
  for (const release of [0, 1]) await workspace.pair(`witness/${release}/etc/site`, { names: ['witness.example'] })
  showWitness(workspace, 0)
}

function showWitness(workspace: Workspace, poll: number): void {
  symlinkSync(`${poll % 2}`, workspace.path('witness/next'))
  renameSync(workspace.path('witness/next'), workspace.path('witness/current'))
}
