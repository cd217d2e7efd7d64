// Items of one age, expired by one timer; the clock is the test's own.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AgeLimit } from '../../src/listener/age-limit.js'
import { until } from './rig.js'

function limitOf(ageMs: number): {
  limit: AgeLimit<string>
  clock: { nowMs: number }
  age: { ms: number }
  expired: string[]
} {
  const clock = { nowMs: 1000 }
  const age = { ms: ageMs }
  const expired: string[] = []
  const limit = new AgeLimit<string>({
    ageMs: () => age.ms,
    now: () => clock.nowMs,
    expire: (item) => expired.push(item),
  })
  return { limit, clock, age, expired }
}

describe('an age limit', () => {
  it('expires what is as old as the limit and nothing younger, oldest first', async () => {
    const { limit, clock, expired } = limitOf(500)
    limit.add('first')
    clock.nowMs += 1
    limit.add('second')
    clock.nowMs += 1
    limit.add('third')
    clock.nowMs = 1501
    await until(() => expired.length > 0, 'something expires')
    assert.deepEqual(expired, ['first', 'second'])
    assert.equal(limit.size, 1)
    clock.nowMs = 1502
    await until(() => limit.size === 0, 'the third expires')
    assert.deepEqual(expired, ['first', 'second', 'third'])
  })

  it('lets off what was deleted, and starts anew what was added again', async () => {
    const { limit, clock, expired } = limitOf(100)
    limit.add('deleted')
    limit.add('again')
    limit.add('last')
    limit.delete('deleted')
    limit.delete('unknown')
    clock.nowMs = 1050
    limit.add('again')
    clock.nowMs = 1100
    await until(() => expired.length > 0, 'something expires')
    assert.deepEqual([expired, limit.size], [['last'], 1])
  })

  it('follows a limit that changes while items wait', async () => {
    const { limit, clock, age, expired } = limitOf(3_600_000)
    limit.add('waiting')
    clock.nowMs += 1000
    age.ms = 1000
    await until(() => expired.length === 1, 'it expires')
  })
})
