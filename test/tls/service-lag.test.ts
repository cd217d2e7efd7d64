// How bad it is that files do not arrive, at its thresholds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceLag } from '../../src/tls/service-lag.js'

const dayMs = 86_400_000
const served = { notBeforeMs: 0, notAfterMs: 90 * dayMs }

test('files that are useless for less than half a minute are being written, longer is a warning', () => {
  assert.equal(serviceLag({ pendingSinceMs: undefined, graceMs: 30_000, served }, 80 * dayMs), 'in_service')
  assert.equal(serviceLag({ pendingSinceMs: dayMs, graceMs: 30_000, served }, dayMs + 29_999), 'in_service')
  assert.equal(serviceLag({ pendingSinceMs: dayMs, graceMs: 30_000, served }, dayMs + 30_000), 'warn')
})

test('it is critical when what serves is near its end or past it, whatever is on disk', () => {
  const at = (nowMs: number): string => serviceLag({ pendingSinceMs: dayMs, graceMs: 30_000, served }, nowMs)
  assert.equal(at(83 * dayMs - 1), 'warn')
  assert.equal(at(83 * dayMs), 'critical')
  assert.equal(at(91 * dayMs), 'critical')
})
