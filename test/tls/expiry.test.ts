// Thresholds by lifetime, each a moment before and at it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daysLeft, expiryState } from '../../src/tls/expiry.js'

const dayMs = 86_400_000
/** A moment without milliseconds, as certificates have. */
const startMs = Date.UTC(2026, 0, 1)

const thresholds: readonly { lifetime: string; days: number; warnDays: number; criticalDays: number }[] = [
  { lifetime: '10 years', days: 3_650, warnDays: 30, criticalDays: 7 },
  { lifetime: '200 days', days: 200, warnDays: 30, criticalDays: 7 },
  { lifetime: '90 days', days: 90, warnDays: 22.5, criticalDays: 7 },
  { lifetime: '47 days', days: 47, warnDays: 11.75, criticalDays: 4.7 },
  { lifetime: '160 hours', days: 160 / 24, warnDays: 40 / 24, criticalDays: 16 / 24 },
  { lifetime: 'a day', days: 1, warnDays: 0.25, criticalDays: 0.1 },
]

for (const { lifetime, days, warnDays, criticalDays } of thresholds) {
  test(`a certificate of ${lifetime} is warned of with ${warnDays.toFixed(2)} days left, not a moment before`, () => {
    const validity = { notBeforeMs: startMs, notAfterMs: startMs + days * dayMs }
    const stateWith = (leftDays: number, earlierMs: number): string =>
      expiryState(validity, validity.notAfterMs - Math.round(leftDays * dayMs) - earlierMs)
    assert.equal(stateWith(days, 1), 'not_yet_valid')
    assert.equal(stateWith(days, 0), 'ok')
    assert.equal(stateWith(warnDays, 1), 'ok')
    assert.equal(stateWith(warnDays, 0), 'warn')
    assert.equal(stateWith(criticalDays, 1), 'warn')
    assert.equal(stateWith(criticalDays, 0), 'critical')
    assert.equal(stateWith(0, 0), 'critical', 'the last moment is still valid')
    assert.equal(stateWith(0, -1), 'expired')
  })
}

test('days left are rounded down: whole days, and hundredths within two days of the end', () => {
  const at = (days: number): number => daysLeft({ notBeforeMs: 0, notAfterMs: startMs + days * dayMs }, startMs)
  assert.deepEqual([40.999, 2, 1.999, 0.256, 0, -0.251, -1.5, -2.5].map(at), [40, 2, 1.99, 0.25, 0, -0.26, -1.5, -3])
})
