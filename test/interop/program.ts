// Programs of other people that the interop tests drive: found, run to their end, or kept running and ended by their own id.
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const runDeadlineMs = 90_000
const stopDeadlineMs = 10_000
const readyDeadlineMs = 20_000
const pollMs = 20
const startAttempts = 3

/** How a program ended and what it said. */
export interface Ran {
  /** The exit code; null after a signal. */
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Where a program is, or undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = `${process.env['PATH'] ?? ''}:/usr/sbin`.split(':')
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/** For a test's `skip`: the names of the programs that are not installed, or false. */
export function missing(...names: readonly string[]): string | false {
  const absent = names.filter((name) => findProgram(name) === undefined)
  return absent.length > 0 && `${absent.join(', ')} not installed`
}

/** Runs a program to its end; `input` is all it gets to read. Rejects when it takes longer than 90 seconds. */
export async function run(name: string, args: readonly string[], input = ''): Promise<Ran> {
  const child = start(name, args)
  const texts = { output: '', errors: '' }
  child.stdout.setEncoding('latin1').on('data', (text: string) => (texts.output += text))
  child.stderr.setEncoding('latin1').on('data', (text: string) => (texts.errors += text))
  // A program may end before it has read all.
  child.stdin.on('error', () => undefined).end(input)
  const timer = setTimeout(() => child.kill('SIGKILL'), runDeadlineMs)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  if (signal === 'SIGKILL') throw new Error(`${name} ${args.join(' ')} did not end: ${texts.output}${texts.errors}`)
  return { code, ...texts }
}

/** Starts a program; whoever starts it stops it. */
export function start(name: string, args: readonly string[]): ChildProcessWithoutNullStreams {
  const child = spawn(findProgram(name) ?? name, args, { stdio: 'pipe' })
  endWithUs(child)
  return child
}

/** Neither keeps a failed test's process alive nor outlives it: who waits for the child does so under a deadline. */
export function endWithUs(child: ChildProcessWithoutNullStreams): void {
  const kill = (): boolean => child.kill('SIGKILL')
  process.on('exit', kill)
  child.on('exit', () => process.off('exit', kill))
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref()
}

/** Ends a process by its id, politely first, and gives its exit code. */
export async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopDeadlineMs)
  await exited
  clearTimeout(timer)
  return child.exitCode
}

/** A server of somebody else; stop it at the end. */
export interface RunningServer {
  readonly port: number
  stop(): Promise<void>
}

/** What one server is started with: a configuration, which may know its folder and port, and the arguments that name it. */
export interface ServerRecipe {
  readonly program: string
  readonly configuration: (place: { readonly home: string; readonly port: number }) => string
  readonly args: (place: { readonly home: string; readonly file: string }) => readonly string[]
}

/** Starts a server that takes no port 0: on a port that was free a moment ago, and on another if it was taken since. */
export async function startServer({ program, configuration, args }: ServerRecipe): Promise<RunningServer> {
  const home = mkdtempSync(join(tmpdir(), `hostward-${program}-`))
  const file = join(home, 'configuration')
  let errors = ''
  for (let attempt = 0; attempt < startAttempts; attempt += 1) {
    const port = await freePort()
    writeFileSync(file, configuration({ home, port }))
    const child = start(program, args({ home, file }))
    child.stdout.resume()
    child.stderr.setEncoding('latin1').on('data', (text: string) => (errors += text))
    if (await accepts(child, port))
      return { port, stop: () => stop(child).then(() => rmSync(home, { recursive: true })) }
    await stop(child)
  }
  throw new Error(`${program} does not accept connections: ${errors}`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function accepts(child: ChildProcess, port: number): Promise<boolean> {
  const endMs = performance.now() + readyDeadlineMs
  while (child.exitCode === null && performance.now() < endMs) {
    const socket = connect(port, '127.0.0.1')
    const isConnected = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isConnected) return child.exitCode === null
    await delay(pollMs)
  }
  return false
}
