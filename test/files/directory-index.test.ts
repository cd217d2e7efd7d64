// Which files an event is about: one of ten thousand neighbours must not make us look at all of them.
import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { DirectoryIndex, type PlacedFile } from '../../src/files/directory-index.js'
import { readIdentityNow } from '../../src/files/file-identity.js'
import { until } from '../support/deadline.js'

describe('an index of directories', () => {
  let directory: string
  let signalled: Set<string>
  let index: DirectoryIndex<PlacedFile>
  beforeEach(() => {
    directory = realpathSync(mkdtempSync(join(tmpdir(), 'hostward-index-')))
    signalled = new Set()
    index = new DirectoryIndex({
      onSignal: (files) => {
        for (const { path } of files) signalled.add(path)
      },
      onError: (error) => assert.fail(error),
    })
  })
  afterEach(() => {
    index.close()
    rmSync(directory, { recursive: true })
  })
  const add = (name: string): string => {
    const path = join(directory, name)
    index.set({ path, seen: readIdentityNow(path) })
    return path
  }
  const write = (name: string): void => writeFileSync(join(directory, name), `${Math.random()}`)

  test('means the file alone that is replaced or written to, of all in its directory', async () => {
    for (const name of ['a.yaml', 'b.yaml', 'last.yaml']) write(name)
    const [, b, last] = ['a.yaml', 'b.yaml', 'last.yaml'].map(add)
    write('.b.yaml.swp')
    renameSync(join(directory, '.b.yaml.swp'), b)
    appendFileSync(join(directory, 'access.log'), 'line')
    // Events come in order.
    appendFileSync(last, 'x')
    await until('the last event', () => signalled.has(last))
    assert.deepEqual([...signalled].sort(), [b, last])
  })

  test('means the directory that is watched as a list of names when a name comes', async () => {
    write('a.yaml')
    add('a.yaml')
    index.set({ path: directory, seen: readIdentityNow(directory) })
    write('new.yaml')
    await until('its event', () => signalled.size > 0)
    assert.deepEqual([...signalled], [directory])
  })

  test('means a link whatever name comes or goes beside it: its way may lead over that name', async () => {
    for (const version of ['one', 'two']) {
      mkdirSync(join(directory, version))
      write(`${version}/tls.crt`)
    }
    symlinkSync('one', join(directory, '..data'))
    symlinkSync('..data/tls.crt', join(directory, 'tls.crt'))
    write('plain')
    const link = add('tls.crt')
    add('plain')
    symlinkSync('two', join(directory, '..data_tmp'))
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
    await until('its event', () => signalled.size > 0)
    assert.deepEqual([...signalled], [link])
  })

  test('does not take a file for a link because a directory above it is one', async () => {
    mkdirSync(join(directory, 'real'))
    symlinkSync('real', join(directory, 'linked'))
    for (const name of ['real/a', 'real/b']) write(name)
    const [a] = ['linked/a', 'linked/b'].map(add)
    write('real/other')
    appendFileSync(a, 'x')
    await until('its event', () => signalled.size > 0)
    assert.deepEqual([...signalled], [a])
  })
})
