// Names are counted anew only where somebody may have lost one; the answer must be that of a count from the beginning.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Claimant, HostConflicts } from '../../src/config/host-conflicts.js'

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const
const site = fc.record({
  hosts: fc.uniqueArray(fc.constantFrom(...letters), { minLength: 1, maxLength: 2 }),
  listeners: fc.subarray(['public', 'internal'], { minLength: 1 }),
})

test('a load after others finds the conflicts that it would find alone', () => {
  const pool = fc.array(site, { minLength: 8, maxLength: 8 })
  const loads = fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { maxLength: 5 }), {
    minLength: 2,
    maxLength: 8,
  })
  fc.assert(
    fc.property(pool, loads, (specs, orders) => {
      const sites = specs.map(claimantOf)
      const remembering = new HostConflicts<Claimant>()
      for (const order of orders) {
        const loaded = order.map((index) => sites[index] as Claimant)
        assert.deepEqual(errorsOf(remembering, loaded), errorsOf(new HostConflicts<Claimant>(), loaded))
      }
    }),
    { numRuns: 500 },
  )
})

function claimantOf(spec: { hosts: readonly string[]; listeners: readonly string[] }, index: number): Claimant {
  const file = `${index}.yaml`
  const claims = spec.hosts.map((host, position) => ({ host, place: { file, line: position + 1, column: 1 } }))
  return { file, claims, listeners: spec.listeners }
}

function errorsOf(conflicts: HostConflicts<Claimant>, sites: readonly Claimant[]): unknown {
  const steps = conflicts.errorsAmong(sites)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return [...step.value].map(([{ file }, errors]) => [file, errors])
  }
}
