// Processes of the benchmark: each pinned to one core, measured by the kernel, and ended by its own id.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** The servers under test have one core for themselves; the load and the origin share the other. */
export const serverCore = 0
export const loadCore = 1

const clockTicksPerSecond = 100
const stopDeadlineMs = 5000

/** Starts a program on one core. */
export function spawnPinned(core: number, command: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn('taskset', ['--cpu-list', String(core), ...command], options)
}

/** CPU time of a process and its children so far, user and system, all threads, in microseconds. */
export function cpuMicroseconds(pid: number): number {
  // proc(5): after the command in parentheses, utime and stime are the twelfth and thirteenth field.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  const own = ((Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond) * 1e6
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + cpuMicroseconds(Number(child)), own)
}

/** Ends a process that we started: politely first. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopDeadlineMs)
  await exited
  clearTimeout(timer)
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Resolves once `isReady` is true; fails when the process ends before, or after ten seconds. */
export async function untilReady(child: ChildProcess, isReady: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (await isReady()) return
    if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode} before it was ready`)
    await delay(50)
  }
  throw new Error('it was not ready after ten seconds')
}

/** Whether something accepts connections on a port. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Where a program is, or undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`.split(':')
  return folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path))
}
