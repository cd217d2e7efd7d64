import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Log, openLog } from '../../src/telemetry/log.js'
import { requestEntry } from './entries.js'

const folder = mkdtempSync(join(tmpdir(), 'hostward-log-'))
after(() => rmSync(folder, { recursive: true }))

interface Line {
  readonly event: string
  readonly level: string
  readonly count: number
  readonly generation: number
}

function linesOf(file: string): Line[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  assert.equal(lines.pop(), '', 'the last line ends in a line feed')
  return lines.map((line) => JSON.parse(line))
}

function eventsOf(file: string): string[] {
  return linesOf(file).map((line) => line.event)
}

function writeRequests(log: Log, count: number): void {
  for (let generation = 0; generation < count; generation += 1) log.request(requestEntry({ generation }))
}

/** More lines than the queue holds. */
const tooMany = 30_000

test('an event line has level as a word, ISO time, event, fields and msg, and nothing else', async () => {
  const file = join(folder, 'event.log')
  const log = openLog({ level: 'info', file, now: () => 1_000_000_000_123 })
  log.warn('site_degraded', 'site-ä is degraded', { vhost: 'site-a' })
  await log.close()
  const line = '{"level":"warn","time":"2001-09-09T01:46:40.123Z","event":"site_degraded","vhost":"site-a"'
  assert.equal(readFileSync(file, 'utf8'), `${line},"msg":"site-ä is degraded"}\n`)
})

test('events below the level are not written, request lines are at every level', async () => {
  const file = join(folder, 'level.log')
  const log = openLog({ level: 'warn', file })
  log.info('a', 'not written')
  log.warn('b', 'written')
  log.request(requestEntry())
  log.setLevel('debug')
  log.debug('c', 'written')
  log.setLevel('error')
  log.warn('d', 'not written')
  log.error('e', 'written')
  await log.close()
  assert.deepEqual(eventsOf(file), ['b', 'request', 'c', 'e'])
})

test('lines are appended to what the file holds, in the order in which they were told', async () => {
  const file = join(folder, 'append.log')
  for (const round of ['first', 'second']) {
    const log = openLog({ level: 'info', file })
    log.info(round, round)
    log.request(requestEntry())
    await log.close()
  }
  assert.deepEqual(eventsOf(file), ['first', 'request', 'second', 'request'])
})

test('a file that cannot be opened is an error that names the file and the reason', () => {
  const missing = join(folder, 'nowhere', 'a.log')
  assert.throws(() => openLog({ level: 'info', file: missing }), {
    message: `the log file ${missing} cannot be opened: its directory does not exist`,
  })
  assert.throws(() => openLog({ level: 'info', file: folder }), /cannot be opened: it is a directory$/)
})

test('a named pipe that nobody reads is refused, and does not wait for its reader', () => {
  const file = join(folder, 'lonely-pipe')
  execFileSync('mkfifo', [file])
  assert.throws(() => openLog({ level: 'info', file }), /it is a pipe that nobody reads$/)
})

test('a reopen after a rename loses no line and writes each once', async () => {
  const file = join(folder, 'rotated.log')
  const log = openLog({ level: 'info', file })
  const rotations = 5
  for (let rotation = 0; rotation < rotations; rotation += 1) {
    writeRequests(log, 1000)
    renameSync(file, `${file}.${rotation}`)
    log.reopen()
  }
  writeRequests(log, 1000)
  await log.close()
  const files = [...Array(rotations).keys()].map((rotation) => `${file}.${rotation}`)
  const generations = [...files, file].flatMap((name) => linesOf(name)).map((line) => line.generation)
  assert.deepEqual(generations.length, (rotations + 1) * 1000)
  assert.deepEqual(generations.slice(-1000), [...Array(1000).keys()])
})

test('a reopen that fails is logged where the log was, and the log goes on there', async () => {
  const home = mkdtempSync(join(folder, 'moved-'))
  const log = openLog({ level: 'info', file: join(home, 'a.log') })
  renameSync(home, `${home}-away`)
  log.reopen()
  log.info('after', 'still here')
  await log.close()
  assert.deepEqual(eventsOf(join(`${home}-away`, 'a.log')), ['log_reopen_failed', 'after'])
})

test('a full disk drops lines, counts them and ends at its deadline', async () => {
  const log = openLog({ level: 'info', file: '/dev/full' })
  writeRequests(log, tooMany)
  await log.close(100)
  log.info('late', 'lost, but no error')
})

test('once a full disk has room again, what was queued follows, then one line with the count of the rest', async () => {
  const file = join(folder, 'full.log')
  symlinkSync('/dev/full', file)
  const log = openLog({ level: 'error', file })
  writeRequests(log, tooMany)
  await log.flush(50)
  rmSync(file)
  log.reopen()
  await log.flush(30_000)
  log.error('after', 'flows again')
  await log.close()
  const lines = linesOf(file)
  const dropped = lines.filter((line) => line.event === 'log_dropped')
  const requests = lines.filter((line) => line.event === 'request')
  assert.equal(dropped.length, 1)
  assert.equal(dropped[0].level, 'warn')
  assert.equal(requests.length + dropped[0].count, tooMany)
  assert.deepEqual(eventsOf(file).slice(-2), ['log_dropped', 'after'])
})

test('a named pipe whose reader left is written again after a reopen, with the count of what was lost', async () => {
  const file = join(folder, 'pipe')
  execFileSync('mkfifo', [file])
  const first = openReader(file)
  const log = openLog({ level: 'info', file })
  log.info('heard', 'heard')
  await log.flush(30_000)
  assert.equal(readLine(first).event, 'heard')
  closeSync(first)
  log.info('unheard', 'told while nobody reads')
  await log.flush(30_000)
  log.info('unheard', 'told after that was noticed')

  const second = openReader(file)
  log.reopen()
  await log.flush(30_000)
  const { event, count } = readLine(second)
  assert.deepEqual({ event, count }, { event: 'log_dropped', count: 2 })
  await log.close()
  closeSync(second)
})

// Linux opens a named pipe for both ways without waiting for the other end.
function openReader(file: string): number {
  return openSync(file, constants.O_RDWR | constants.O_NONBLOCK)
}

function readLine(descriptor: number): Line {
  const bytes = Buffer.alloc(4096)
  return JSON.parse(bytes.toString('utf8', 0, readSync(descriptor, bytes)))
}
