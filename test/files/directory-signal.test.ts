import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { type DirectoryEvent, DirectorySignal } from '../../src/files/directory-signal.js'
import { until } from '../support/deadline.js'

describe('the signal of a directory', () => {
  let directory: string
  let events: DirectoryEvent[]
  let signal: DirectorySignal
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'hostward-signal-'))
    for (const name of ['site.yaml', 'access.log']) writeFileSync(join(directory, name), 'x')
    events = []
    const onError = (error: Error): void => assert.fail(error)
    signal = new DirectorySignal(directory, { onEvent: (event) => events.push(event), onError })
  })
  afterEach(() => {
    signal.close()
    rmSync(directory, { recursive: true })
  })
  const has = (kind: DirectoryEvent['kind'], name: string): boolean =>
    events.some((event) => event.kind === kind && event.name === name)

  test('tells which file is written to', async () => {
    appendFileSync(join(directory, 'site.yaml'), 'y')
    await until('a signal', () => has('change', 'site.yaml'))
  })

  test('tells what is put in the place of a file', async () => {
    writeFileSync(join(directory, 'new'), 'y')
    renameSync(join(directory, 'new'), join(directory, 'site.yaml'))
    await until('a signal', () => has('rename', 'site.yaml'))
  })

  test('is told a refusal instead of throwing', () => {
    const errors: Error[] = []
    const missing = new DirectorySignal(join(directory, 'missing'), {
      onEvent: () => assert.fail(),
      onError: (error) => errors.push(error),
    })
    missing.close()
    assert.equal(errors.length, 1)
  })
})
