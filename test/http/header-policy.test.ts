// A policy never touches what frames a message; the rest of what it does is in the contract of the wires.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headerPolicy } from '../../src/http/header-policy.js'

test('a policy that does nothing is none', () => {
  assert.equal(headerPolicy({ set: [], remove: [] }), undefined)
})

test('a name that is set loses its other lines, whatever its case', () => {
  assert.deepEqual(headerPolicy({ set: [{ name: 'X-A', value: '1' }], remove: ['X-b'] }), {
    dropped: ['x-b', 'x-a'],
    added: ['x-a', '1'],
  })
})

for (const name of ['Content-Length', 'transfer-encoding', 'Connection', 'Host', 'Upgrade', 'TE', 'Trailer']) {
  test(`${name} is not for policies`, () => {
    assert.throws(() => headerPolicy({ set: [{ name, value: 'x' }], remove: [] }))
    assert.throws(() => headerPolicy({ set: [], remove: [name] }))
  })
}
