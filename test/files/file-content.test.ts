// Reading whole files: content, version and problems, on real files.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { atOnce, besideTraffic } from '../../src/files/disk-access.js'
import { fileBytesMax, isFileProblem, readContent, readVersion } from '../../src/files/file-content.js'
import { isSameIdentity, readIdentity } from '../../src/files/file-identity.js'

const directory = mkdtempSync(join(tmpdir(), 'hostward-content-'))
after(() => rmSync(directory, { recursive: true }))

function place(name: string): string {
  return join(directory, name)
}

test('a file is read with a hash that tells its content', async () => {
  writeFileSync(place('one'), 'same')
  writeFileSync(place('two'), 'same')
  writeFileSync(place('three'), 'other')
  const [one, two, three] = await Promise.all(['one', 'two', 'three'].map((name) => readContent(place(name))))
  assert.ok(one && !isFileProblem(one) && one.bytes.toString() === 'same')
  assert.equal(one.version.hash, two?.version.hash)
  assert.notEqual(one.version.hash, three?.version.hash)
})

test('a missing file, a dangling link and a directory are problems with a code of their own', async () => {
  symlinkSync('nowhere', place('dangling'))
  mkdirSync(place('folder'))
  const reads = await Promise.all(
    ['absent', 'dangling', 'folder', 'absent/below'].map((name) => readContent(place(name))),
  )
  const codes = reads.map((read) => (isFileProblem(read) ? read.code : 'read'))
  assert.deepEqual(codes, ['missing', 'missing', 'not_a_file', 'missing'])
  assert.ok(reads.every((read) => read.version.hash === undefined))
})

test('what is read at once is what is read beside traffic, problems included', async () => {
  writeFileSync(place('plain'), 'text')
  utimesSync(place('plain'), 1_000, 1_000)
  symlinkSync('plain', place('linked'))
  symlinkSync('nowhere', place('leading-nowhere'))
  symlinkSync('loop', place('loop'))
  mkdirSync(place('a-folder'))
  while (isYoung(await readContent(place('plain')))) await readContent(place('plain'))
  for (const name of ['plain', 'linked', 'absent', 'leading-nowhere', 'loop', 'a-folder', 'absent/below']) {
    const path = place(name)
    assert.deepEqual(await readContent(path, atOnce), await readContent(path, besideTraffic), name)
  }
})

/** Whether the identity may hide a second write. */
function isYoung({ version }: Awaited<ReturnType<typeof readContent>>): boolean {
  return version.identity === undefined
}

test('a file at the size limit is read, one byte more is too large', async () => {
  writeFileSync(place('large'), '')
  truncateSync(place('large'), fileBytesMax)
  const allowed = await readContent(place('large'))
  truncateSync(place('large'), fileBytesMax + 1)
  const refused = await readContent(place('large'))
  assert.equal(isFileProblem(allowed), false)
  assert.ok(isFileProblem(refused) && refused.code === 'too_large')
})

test('a file that cannot be read says so', { skip: process.getuid?.() === 0 && 'root reads everything' }, async () => {
  writeFileSync(place('secret'), 'x', { mode: 0o000 })
  const read = await readContent(place('secret'))
  assert.ok(isFileProblem(read) && read.code === 'unreadable')
})

test('a directory has a version that follows its names and nothing else', async () => {
  const folder = place('names')
  mkdirSync(folder)
  writeFileSync(join(folder, 'a.yaml'), '1')
  const before = await readVersion(folder)
  writeFileSync(join(folder, 'a.yaml'), '2')
  assert.equal((await readVersion(folder)).hash, before.hash)
  writeFileSync(join(folder, 'b.yaml'), '1')
  assert.notEqual((await readVersion(folder)).hash, before.hash)
})

test('identity changes with a rewrite that keeps size and modification time', async () => {
  writeFileSync(place('quiet'), 'old', { flush: true })
  utimesSync(place('quiet'), 1_000, 1_000)
  const before = await readIdentity(place('quiet'))
  assert.ok(isSameIdentity(before, await readIdentity(place('quiet'), { previous: before })))
  rmSync(place('quiet'))
  writeFileSync(place('quiet'), 'new')
  utimesSync(place('quiet'), 1_000, 1_000)
  const after = await readIdentity(place('quiet'), { previous: before })
  assert.equal(isSameIdentity(before, after), false)
  assert.equal(isSameIdentity(before, undefined), false)
  assert.equal(isSameIdentity(undefined, undefined), true)
})

test('a version of a file written this very moment has no identity, an older one has', async () => {
  writeFileSync(place('young'), 'now')
  const young = await readContent(place('young'))
  if (young.version.identity !== undefined) return // the machine paused for longer than a clock tick
  const deadlineMs = Date.now() + 10_000
  let older = young
  while (older.version.identity === undefined && Date.now() < deadlineMs) older = await readContent(place('young'))
  assert.notEqual(older.version.identity, undefined)
  assert.equal(older.version.hash, young.version.hash)
})
