import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { Ejection, type EjectionOwner, type PassiveOptions } from '../../src/upstream/ejection.js'
import { Failure } from '../../src/wire/failure.js'

const options: PassiveOptions = { failures: 3, windowMs: 1000, ejectMs: 100 }
const reset = new Failure('upstream_reset', 'closed')

class Owner implements EjectionOwner {
  isReplaceable = true
  readonly log: string[] = []

  onEjected(detail: string, pauseMs: number): void {
    this.log.push(`ejected for ${pauseMs}: ${detail}`)
  }

  onReturned(): void {
    this.log.push('returned')
  }
}

describe('an endpoint whose requests fail', () => {
  let owner: Owner
  let ejection: Ejection
  let now: number

  beforeEach(() => {
    owner = new Owner()
    now = 5000
    ejection = new Ejection({ options, owner, now: () => now })
  })

  function fail(count: number): void {
    for (let index = 0; index < count; index++) ejection.onFailed(reset)
  }

  /** One request to the endpoint that is ejected, and how it ends. */
  function trial(status: number): void {
    ejection.onSent()
    ejection.onAnswered(status)
  }

  test('is left alone after so many in a row, and not after one less', () => {
    fail(2)
    assert.equal(ejection.admits, true)
    fail(1)
    assert.equal(ejection.admits, false)
    assert.deepEqual(owner.log, ['ejected for 100: upstream_reset: closed'])
  })

  test('is not when an answer came between them', () => {
    fail(2)
    ejection.onAnswered(200)
    fail(2)
    assert.equal(ejection.admits, true)
  })

  for (const status of [502, 503, 504]) {
    test(`counts an answer of ${status}: a gateway without its service is as good as gone`, () => {
      for (let index = 0; index < 3; index++) ejection.onAnswered(status)
      assert.deepEqual(owner.log, [`ejected for 100: status ${status}`])
    })
  }

  for (const status of [200, 404, 429, 500, 501, 505]) {
    test(`takes an answer of ${status} for a success: the endpoint itself is there`, () => {
      fail(2)
      ejection.onAnswered(status)
      fail(2)
      assert.equal(ejection.admits, true)
    })
  }

  test('is when they come within the window, and not when they are spread over more', () => {
    fail(2)
    now += 1000
    fail(1)
    assert.equal(ejection.admits, false)
  })

  test('is not when the first is older than the window', () => {
    fail(2)
    now += 1001
    fail(2)
    assert.equal(ejection.admits, true)
    fail(1)
    assert.equal(ejection.admits, false)
  })

  test('is never left alone while it is the last, and is when another can stand in', () => {
    owner.isReplaceable = false
    fail(10)
    assert.equal(ejection.admits, true)
    owner.isReplaceable = true
    fail(1)
    assert.equal(ejection.admits, false)
  })

  test('is never left alone where the configuration says so', () => {
    ejection.options = { ...options, failures: 0 }
    fail(100)
    assert.equal(ejection.admits, true)
  })

  test('is tried with one request after the pause, not before, and is back when that succeeds', () => {
    fail(3)
    now += 99
    assert.equal(ejection.admits, false)
    now += 1
    assert.equal(ejection.admits, true)
    ejection.onSent()
    assert.equal(ejection.admits, false, 'one is enough')
    ejection.onAnswered(200)
    assert.equal(ejection.admits, true)
    assert.deepEqual(owner.log, ['ejected for 100: upstream_reset: closed', 'returned'])
    fail(2)
    assert.equal(ejection.admits, true, 'failures are counted anew')
  })

  test('stays alone for longer each time the trial fails, up to ten times the first pause, and tells of it once', () => {
    fail(3)
    for (const pauseMs of [100, 200, 400, 800, 1000, 1000]) {
      now += pauseMs - 1
      assert.equal(ejection.admits, false, `${pauseMs}`)
      now += 1
      assert.equal(ejection.admits, true, `${pauseMs}`)
      trial(503)
    }
    assert.equal(owner.log.length, 1)
  })

  test('grows its pauses over returns that do not last, and begins anew after one that does', () => {
    fail(3)
    now += 100
    trial(200)
    now += 1000
    fail(3)
    now += 200
    trial(200)
    now += 1001
    fail(3)
    assert.deepEqual(
      owner.log.filter((line) => line !== 'returned').map((line) => line.split(':')[0]),
      ['ejected for 100', 'ejected for 200', 'ejected for 100'],
    )
  })

  test('is tried again after another pause when the client of the trial left', () => {
    fail(3)
    now += 100
    ejection.onSent()
    now += 99
    assert.equal(ejection.admits, false)
    now += 1
    assert.equal(ejection.admits, true)
  })

  test('is not brought back by the answer to a request that was under way before', () => {
    fail(3)
    ejection.onAnswered(200)
    now += 50
    assert.equal(ejection.admits, false)
  })

  test('is brought back by a success during the pause where nobody else could be asked', () => {
    fail(3)
    trial(200)
    assert.equal(ejection.admits, true)
    assert.equal(owner.log.at(-1), 'returned')
  })

  test('comes back when ejection is switched off', () => {
    fail(3)
    ejection.options = { ...options, failures: 0 }
    assert.equal(ejection.admits, true)
    assert.equal(owner.log.at(-1), 'returned')
  })
})
