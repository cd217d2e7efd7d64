// Several users of one file, and what becomes of it when they come, read again and go.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FileUse } from '../../src/files/watched-set.js'
import { WatchedSet } from '../../src/files/watched-set.js'

function use(path: string, hash: string): FileUse {
  return { path, version: { identity: undefined, hash } }
}

function pathsOf(files: readonly { readonly path: string }[]): readonly string[] {
  return files.map(({ path }) => path).sort()
}

test('a file is looked at when it comes and when it was read again, and not otherwise', () => {
  const set = new WatchedSet()
  const [a, b] = [use('a', '1'), use('b', '1')]
  assert.deepEqual(pathsOf(set.set([a, b]).fresh), ['a', 'b'])
  assert.deepEqual(set.set([b, a]), { fresh: [], dropped: [] })
  const { fresh, dropped } = set.set([a, use('b', '1')])
  assert.deepEqual(pathsOf(fresh), ['b'], 'the reader may have read another thing than the look has seen')
  assert.deepEqual(pathsOf(dropped), ['b'])
  assert.equal(set.size, 2)
})

test('a file is watched as long as anybody uses it', () => {
  const set = new WatchedSet()
  const [first, second, third] = [use('shared', '1'), use('shared', '1'), use('shared', '1')]
  assert.deepEqual(pathsOf(set.set([first, second]).fresh), ['shared'])
  assert.deepEqual(set.set([second]), { fresh: [], dropped: [] })
  assert.deepEqual(set.set([second, third]), { fresh: [], dropped: [] })
  assert.deepEqual(pathsOf(set.set([third]).dropped), [])
  assert.deepEqual(pathsOf(set.set([]).dropped), ['shared'])
  assert.equal(set.size, 0)
})

test('users who have read different things at one path are told to read again, until they agree', () => {
  const set = new WatchedSet()
  const old = use('shared', 'old')
  set.set([old])
  const renewed = use('shared', 'new')
  const [disputed] = set.set([old, renewed]).fresh
  assert.ok(disputed)
  assert.notEqual(disputed.given.hash, 'old')
  assert.notEqual(disputed.given.hash, 'new', 'nothing on disk can be what both have read')
  const [agreed] = set.set([use('shared', 'new'), use('shared', 'new')]).fresh
  assert.equal(agreed?.given.hash, 'new')
  assert.ok(agreed && set.has(agreed) && !set.has(disputed))
})

test('two users who come with different things are told as well', () => {
  const set = new WatchedSet()
  const { fresh, dropped } = set.set([use('shared', 'one'), use('shared', 'two')])
  assert.equal(fresh.length, 1, 'the first of them is watched no more')
  assert.equal(dropped.length, 1)
  assert.ok(fresh[0] && set.has(fresh[0]))
})
