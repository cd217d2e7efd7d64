// curl, told to find every name at Hostward and to say in one line a request what it did.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Ran, run } from './program.js'
import type { Stage } from './stage.js'

/** What curl says of one request. */
export interface CurlAnswer {
  readonly status: number
  /** 0 on a connection that was there already. */
  readonly newConnections: number
  /** `1.1` or `2`. */
  readonly version: string
  readonly head: string
  readonly body: Buffer
}

/** The versions of HTTP that every rule is held to, as curl's options. */
export const wires = ['--http1.1', '--http2'] as const

/** One curl for all requests, one after the other, on kept connections; each request is curl's own arguments. */
export async function curl(stage: Stage, ...requests: readonly (readonly string[])[]): Promise<readonly CurlAnswer[]> {
  const folder = mkdtempSync(join(stage.folder, 'curl-'))
  const args = requests.flatMap((request, index) => [
    ...(index === 0 ? [] : ['--next']),
    ...['--dump-header', join(folder, `${index}.head`), '--output', join(folder, `${index}.body`)],
    ...['--write-out', '%{http_code} %{num_connects} %{http_version}\\n'],
    ...request,
  ])
  const { output, errors, code } = await curlOnce(stage, args)
  if (code !== 0) throw new Error(`curl ended with ${code}: ${errors}`)
  const answers = output
    .trim()
    .split('\n')
    .map((line, index) => answerOf(line, join(folder, String(index))))
  rmSync(folder, { recursive: true })
  return answers
}

/** One curl as it is, for requests that are meant to fail. */
export async function curlOnce(stage: Stage, args: readonly string[]): Promise<Ran> {
  const trust = ['--cacert', stage.rootFile, '--noproxy', '*']
  const route = [`::127.0.0.1:${stage.port}`, `:80:127.0.0.1:${stage.plainPort}`].reverse()
  const common = [...trust, ...route.flatMap((each) => ['--connect-to', each])]
  const words = args.flatMap((arg) => (arg === '--next' ? [arg, ...common] : [arg]))
  return await run('curl', ['--disable', '--silent', '--show-error', '--max-time', '60', ...common, ...words])
}

function answerOf(line: string, file: string): CurlAnswer {
  const [status, newConnections, version] = line.split(' ')
  return {
    status: Number(status),
    newConnections: Number(newConnections),
    version,
    head: readFileSync(`${file}.head`, 'latin1'),
    // Without a byte of a body curl makes no file.
    body: existsSync(`${file}.body`) ? readFileSync(`${file}.body`) : Buffer.alloc(0),
  }
}
