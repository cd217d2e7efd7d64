// One measurement: CPU time of a server's processes for a known number of requests, all answered, forwarded and logged.
import { readFileSync, truncateSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Payload } from './heads.js'
import { runLoad } from './load.js'
import type { Origin } from './origin-process.js'
import { cpuMicroseconds } from './processes.js'
import type { RunningServer, Server, Wire } from './servers/server.js'

/** A server under test and the origin behind it. */
export interface Subject {
  readonly server: Server
  readonly running: RunningServer
  readonly origin: Origin
}

/** The load of one run. */
export interface Run {
  readonly wire: Wire
  readonly payload: Payload
  readonly requests: number
}

/** What one run cost. */
export interface Sample {
  readonly microsecondsPerRequest: number
  readonly requestsPerSecond: number
}

/** Runs the load once; throws where an answer, a forwarded request or a log line is missing. */
export async function measure({ server, running, origin }: Subject, run: Run): Promise<Sample> {
  const pid = running.child.pid ?? 0
  const countBefore = await origin.count()
  const cpuBefore = cpuMicroseconds(pid)
  const { requestsPerSecond } = await runLoad({ port: running.port, ...run })
  const logged = await loggedLines({ running, marker: server.logMarker, expected: run.requests })
  const cpu = cpuMicroseconds(pid) - cpuBefore
  const forwarded = (await origin.count()) - countBefore
  if (forwarded !== run.requests || logged !== run.requests) {
    throw new Error(`${server.name}: ${run.requests} requests, but ${forwarded} were forwarded and ${logged} logged`)
  }
  return { microsecondsPerRequest: cpu / run.requests, requestsPerSecond }
}

interface LogQuestion {
  readonly running: RunningServer
  readonly marker: string
  readonly expected: number
}

/** Counts the lines of one run, waiting for the last ones, and empties the file, or a long run would fill the disk. */
async function loggedLines({ running, marker, expected }: LogQuestion): Promise<number> {
  let count = 0
  for (let attempt = 0; attempt < 20 && count < expected; attempt += 1) {
    await delay(100)
    count = occurrences(readFileSync(running.logFile), marker)
  }
  truncateSync(running.logFile)
  return count
}

function occurrences(bytes: Buffer, marker: string): number {
  const wanted = Buffer.from(marker)
  let count = 0
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + wanted.length)) count += 1
  return count
}
