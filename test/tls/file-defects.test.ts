// Files that others can read or replace, and files from the future.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileDefects } from '../../src/tls/file-defects.js'

const root = mkdtempSync(join(tmpdir(), 'hostward-files-'))
after(() => rmSync(root, { recursive: true }))

function pair(): { cert: string; key: string } {
  const directory = mkdtempSync(join(root, 'case-'))
  const files = { cert: join(directory, 'site.pem'), key: join(directory, 'site.key') }
  writeFileSync(files.cert, '')
  writeFileSync(files.key, '', { mode: 0o600 })
  return files
}

async function messages(files: { cert: string; key: string }, nowMs = Date.now()): Promise<string[]> {
  return (await fileDefects(files, { nowMs })).map(({ code, message }) => `${code}: ${message}`)
}

const modes: readonly (readonly [number, readonly RegExp[]])[] = [
  [0o400, []],
  [0o600, []],
  [0o640, []],
  [0o644, [/^key_permissions: everybody on this machine can read .*0644/]],
  [0o660, [/^key_permissions: others can change .*0660/]],
  [0o666, [/can read/, /can change/]],
]

for (const [mode, expected] of modes) {
  test(`a key of mode ${mode.toString(8)} is told with ${expected.length} warnings`, async () => {
    const files = pair()
    chmodSync(files.key, mode)
    const found = await messages(files)
    assert.equal(found.length, expected.length)
    for (const [index, pattern] of expected.entries()) assert.match(found[index] ?? '', pattern)
  })
}

test('a key behind a link is judged where it is, and so are both directories', async () => {
  const files = pair()
  const open = join(root, 'open')
  mkdirSync(open)
  symlinkSync(files.key, join(open, 'site.key'))
  const linked = { ...files, key: join(open, 'site.key') }
  assert.deepEqual(await messages(linked), [])
  chmodSync(files.key, 0o604)
  assert.match((await messages(linked)).join(), /can read/)
  chmodSync(files.key, 0o600)
  chmodSync(open, 0o777)
  assert.match((await messages(linked)).join(), /^key_permissions: everybody .* can replace .*open is writable by all$/)
  chmodSync(open, 0o1777)
  assert.deepEqual(await messages(linked), [], 'only its owner can replace a file in a sticky directory')
})

test('a file that was changed a minute ahead is within tolerance, one of a moment more doubts the clock', async () => {
  const files = pair()
  const nowMs = Date.now()
  utimesSync(files.cert, nowMs / 1_000, nowMs / 1_000 + 60)
  assert.deepEqual(await messages(files, nowMs), [])
  utimesSync(files.cert, nowMs / 1_000, nowMs / 1_000 + 62)
  assert.match((await messages(files, nowMs)).join(), /^clock_skew: the file was changed in the future/)
})

test('files that are gone again are nothing to warn of', async () => {
  assert.deepEqual(await messages({ cert: join(root, 'none.pem'), key: join(root, 'none.key') }), [])
})
