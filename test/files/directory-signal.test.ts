import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { DirectorySignal } from '../../src/files/directory-signal.js'
import { until } from '../support/deadline.js'

describe('the signal of a directory', () => {
  let directory: string
  let signals = 0
  let signal: DirectorySignal
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'hostward-signal-'))
    for (const name of ['site.yaml', 'access.log']) writeFileSync(join(directory, name), 'x')
    signals = 0
    const fail = (error: Error): void => assert.fail(error)
    signal = new DirectorySignal({ onSignal: () => signals++, onError: fail })
    const mark = String(statSync(directory).ino)
    signal.setDirectories({ marks: new Map([[directory, mark]]), names: new Set(['site.yaml']) })
  })
  afterEach(() => {
    signal.close()
    rmSync(directory, { recursive: true })
  })

  test('comes when a watched file is written to', async () => {
    appendFileSync(join(directory, 'site.yaml'), 'y')
    await until('a signal', () => signals > 0)
  })

  test('does not come for a log that is written in the same directory', async () => {
    for (let line = 0; line < 100; line++) appendFileSync(join(directory, 'access.log'), 'line\n')
    // Events come in order: the one for the new name tells that those of the log have been passed over.
    writeFileSync(join(directory, 'new.yaml'), '')
    await until('a signal', () => signals > 0)
    assert.equal(signals, 1)
  })
})
