// Budgets and windows by themselves: what is spent, what comes back with time, and what is never given twice.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../../src/http2/armour.js'
import { ReceiveWindow, WindowPool } from '../../src/http2/flow-control.js'

test('a budget gives its burst at once, and refills with time up to the burst', () => {
  const budget = new Budget(3, 0)
  const spend = (nowMs: number) => budget.spend(1, { burst: 3, perSecond: 10, nowMs })
  assert.deepEqual([spend(0), spend(0), spend(0), spend(0)], [true, true, true, false])
  assert.equal(spend(100), false)
  assert.equal(spend(300), true)
  assert.deepEqual([spend(60_000), spend(60_000), spend(60_000), spend(60_000)], [true, true, true, false])
})

test('what is earned is cut to the burst when it is spent', () => {
  const budget = new Budget(2, 0)
  budget.earn(1000)
  const spend = () => budget.spend(1, { burst: 2, perSecond: 0, nowMs: 0 })
  assert.deepEqual([spend(), spend(), spend()], [true, true, false])
})

test('a window takes what it allows and no byte more, until it is credited', () => {
  const window = new ReceiveWindow(100)
  assert.equal(window.take(100), true)
  assert.equal(window.isDue, false)
  window.owe(50)
  assert.equal(window.isDue, true)
  assert.equal(window.credit(20), 70)
  assert.equal(window.sizeBytes, 120)
  assert.equal(window.take(70), true)
  assert.equal(window.take(1), false)
})

test('a pool gives out what it has, and again what came back', () => {
  const pool = new WindowPool(100)
  assert.deepEqual([pool.acquire(60), pool.acquire(60), pool.acquire(60)], [60, 40, 0])
  pool.release(60)
  assert.equal(pool.acquire(80), 60)
})
