import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ContextCache } from '../../src/tls/context-cache.js'
import { proved } from './proved.js'

test('so many certificates keep their contexts, and the one used longest ago makes room', async () => {
  const cache = new ContextCache()
  const certificates = await Promise.all(
    ['a.example', 'b.example', 'c.example'].map((name) => proved({ names: [name] })),
  )
  const [a, b, c] = certificates
  assert.ok(a && b && c)
  const use = (certificate: typeof a) => {
    const context = certificate.secureContext()
    cache.touch(certificate, 2)
    return context
  }
  const [ofA, ofB] = [use(a), use(b)]
  assert.equal(use(a), ofA, 'two are kept')
  use(c)
  assert.equal(cache.size, 2)
  assert.equal(use(a), ofA, 'it was used since')
  assert.notEqual(use(b), ofB, 'it was not')
  cache.forget(new Set([a]))
  assert.equal(cache.size, 1)
})
