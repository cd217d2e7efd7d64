// The keys that sessions are sealed with: the same for the same site while a generation lasts, gone for good afterwards.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generationMs, TicketKeys } from '../../src/tls/ticket-keys.js'

const secret = Buffer.alloc(32, 7)

test('processes that begin with the same secret have the same keys, also after generations', () => {
  let nowMs = 10 * generationMs
  const [one, other] = [1, 2].map(() => new TicketKeys({ secret, clock: () => nowMs }))
  assert.deepEqual(one?.keyOf('site'), other?.keyOf('site'))
  nowMs += generationMs
  assert.equal(one?.generation, 11)
  nowMs += 3 * generationMs
  assert.deepEqual([one?.generation, other?.generation], [14, 14])
  assert.deepEqual(one?.keyOf('site'), other?.keyOf('site'))
})

test('each name has keys of its own, each generation others, and each process where no secret is given', () => {
  let nowMs = 0
  const keys = new TicketKeys({ secret, clock: () => nowMs })
  const first = keys.keyOf('a')
  assert.equal(first.length, 48)
  assert.notDeepEqual(keys.keyOf('b'), first)
  nowMs = generationMs - 1
  assert.equal(keys.generation, 0)
  assert.deepEqual(keys.keyOf('a'), first)
  nowMs = generationMs
  assert.equal(keys.generation, 1)
  assert.notDeepEqual(keys.keyOf('a'), first)
  nowMs = 0
  assert.equal(keys.generation, 1, 'a clock that is set back brings no key back')
  assert.notDeepEqual(new TicketKeys({ clock: () => 0 }).keyOf('a'), new TicketKeys({ clock: () => 0 }).keyOf('a'))
})
