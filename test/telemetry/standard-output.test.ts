// The log on standard output, in a process of its own: a pipe that nobody reads, reads late, or stops to read.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./log-writer.js', import.meta.url))

/** More lines than the pipe and the queue hold. */
const tooMany = 40_000

interface Writer {
  readonly child: ChildProcess
  readonly output: Readable
  /** Tells the child what to do, and waits until it has done it. */
  readonly ask: (request: string) => Promise<void>
}

async function startWriter(lineCount: number): Promise<Writer> {
  const child = fork(program, [String(lineCount)], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  assert.ok(child.stdout)
  const ask = async (request: string): Promise<void> => {
    child.send(request)
    await heard(child, request)
  }
  await heard(child, 'written')
  return { child, output: child.stdout, ask }
}

async function heard(child: ChildProcess, expected: string): Promise<void> {
  for (;;) {
    const [message] = await once(child, 'message')
    if (message === expected) return
  }
}

async function readLines(output: Readable): Promise<{ event: string; count: number }[]> {
  let text = ''
  for await (const chunk of output) text += chunk
  const lines = text.split('\n')
  assert.equal(lines.pop(), '', 'the last line ends in a line feed')
  return lines.map((line) => JSON.parse(line))
}

test('a pipe that nobody reads holds up neither the loop nor the exit', async () => {
  const { child, ask } = await startWriter(tooMany)
  await ask('say more')
  child.send('close')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})

test('a process that exits at once is not held up by a pipe that nobody reads', async () => {
  const { child } = await startWriter(tooMany)
  child.send('exit at once')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})

test('a pipe that is read late gets whole lines, one log_dropped with the count of the others, and what comes after', async () => {
  const { child, output, ask } = await startWriter(tooMany)
  const reading = readLines(output)
  await ask('flush')
  await ask('say more')
  child.send('close')
  const lines = await reading
  const dropped = lines.filter(({ event }) => event === 'log_dropped')
  const requests = lines.filter(({ event }) => event === 'request')
  assert.equal(dropped.length, 1)
  assert.ok(dropped[0].count > 0)
  assert.equal(requests.length + dropped[0].count, tooMany)
  assert.equal(lines.at(-1)?.event, 'more')
})

test('a process that exits without closing its log still writes its last lines', async () => {
  const { child, output } = await startWriter(10)
  const reading = readLines(output)
  child.send('exit at once')
  assert.equal((await reading).length, 10)
})

test('a reader that goes away does not end the process', async () => {
  const { child, output, ask } = await startWriter(10)
  output.destroy()
  await once(output, 'close')
  for (let round = 0; round < 3; round += 1) {
    await ask('say more')
    await ask('flush')
  }
  child.send('close')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})
