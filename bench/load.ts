// The load: h2load on the load's core, over TLS 1.3 with one cipher for everybody, and what it says of a run.
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { type Payload, requestHeaders, siteName, targetOf } from './heads.js'
import { findProgram, loadCore, spawnPinned } from './processes.js'
import type { Wire } from './servers/server.js'

/** Why no load can be made here, or undefined. */
export const loadMissing =
  findProgram('h2load') === undefined ? 'h2load is not installed (Debian: nghttp2-client)' : undefined

/** One run: so many requests, on as many connections as the wire asks for. */
export interface LoadRequest {
  readonly port: number
  readonly wire: Wire
  readonly payload: Payload
  readonly requests: number
}

/** What came of a run in which every request was answered with 2xx. */
export interface LoadResult {
  readonly requestsPerSecond: number
}

const concurrency: Readonly<Record<Wire, readonly string[]>> = {
  h1: ['--h1', '--clients=64'],
  h2: ['--clients=8', '--max-concurrent-streams=16'],
}

/** Runs the load; throws where a single request fails. */
export async function runLoad({ port, wire, payload, requests }: LoadRequest): Promise<LoadResult> {
  const command = [
    'h2load',
    ...concurrency[wire],
    `--requests=${requests}`,
    // Node prefers AES-256 where OpenSSL's own servers follow the client.
    '--tls13-ciphers=TLS_AES_128_GCM_SHA256',
    `--connect-to=127.0.0.1:${port}`,
    ...requestHeaders.map((line) => `--header=${line}`),
    `https://${siteName}${targetOf(payload)}`,
  ]
  const child = spawnPinned(loadCore, command, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (child.stdout === null) throw new Error('h2load has no output to read')
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return readResult(output, requests)
}

function readResult(output: string, requests: number): LoadResult {
  const succeeded = Number(/(\d+) 2xx/.exec(output)?.[1])
  const rate = Number(/finished in [^,]+, ([\d.]+) req\/s/.exec(output)?.[1])
  if (succeeded !== requests || Number.isNaN(rate)) {
    throw new Error(`${succeeded} of ${requests} requests were answered with 2xx:\n${output}`)
  }
  return { requestsPerSecond: rate }
}
