// A directory of configuration and certificates, and the program run in it as a person would. Its transcripts are
// compared whole, with the directory's own path written as DIR.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  type CertificateOptions,
  makeAuthority,
  makeCertificate,
  type TestAuthority,
  writePair,
} from '../support/certificates.js'
import { within } from '../support/deadline.js'

/** The built program. */
export const program = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** What a run of the program gave. */
export interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A started program. */
export type Program = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable }

/** A directory for one test, removed after it. */
export class Workspace {
  readonly directory: string

  constructor(context: TestContext) {
    this.directory = realpathSync(mkdtempSync(join(tmpdir(), 'hostward-cli-')))
    context.after(() => rmSync(this.directory, { recursive: true, force: true }))
  }

  write(path: string, content: string): void {
    const file = join(this.directory, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }

  /** Makes `certs/NAME.pem` and `certs/NAME.key`, issued by an authority that nothing is wrong with. */
  async certificate(name: string, options: CertificateOptions): Promise<void> {
    mkdirSync(join(this.directory, 'certs'), { recursive: true })
    writePair(join(this.directory, 'certs'), name, await makeCertificate({ issuer: await authority(), ...options }))
  }

  start(args: readonly string[]): Program {
    return spawn(process.execPath, [program, ...args], { cwd: this.directory, stdio: ['ignore', 'pipe', 'pipe'] })
  }

  async run(...args: readonly string[]): Promise<Run> {
    return await finished(this.start(args))
  }

  /** Standard output, then each line of standard error behind `! `, then the exit code. */
  async transcript(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args)
    const lines = stderr.replace(/^(?=.)/gm, '! ')
    return `${stdout}${lines}exit ${code}\n`.replaceAll(this.directory, 'DIR')
  }
}

let madeAuthority: Promise<TestAuthority> | undefined

/** An intermediate, so that it is sent. */
function authority(): Promise<TestAuthority> {
  madeAuthority ??= makeAuthority({ commonName: 'Test Root' }).then((issuer) =>
    makeAuthority({ commonName: 'Test CA', issuer }),
  )
  return madeAuthority
}

/** Everything that a started program prints until its end. */
export async function finished(child: Program): Promise<Run> {
  const [stdout, stderr, [code]] = await within(
    'the program ends',
    Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]),
  )
  return { code, stdout, stderr }
}

const dayMs = 86_400_000
const startedMs = Date.now()

/** The dates of a certificate of 90 days that has this many left; the same at every call. */
export function lasting(days: number): { notBefore: Date; notAfter: Date } {
  // One hour more, so that whole days are still left when the program looks.
  const notAfterMs = startedMs + days * dayMs + 3_600_000
  return { notBefore: new Date(notAfterMs - 90 * dayMs), notAfter: new Date(notAfterMs) }
}

/** `YYYY-MM-DD` in UTC. */
export function dateOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}
