// Lives of certificates, told in reports; time passes at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DatedThing, ExpiryReport } from '../../src/tls/expiry-watch.js'
import { ExpiryWatch } from '../../src/tls/expiry-watch.js'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** A moment without milliseconds, as certificates have. */
const startMs = Date.UTC(2026, 0, 1)

/** Time that passes only when a test says so, and at once. */
class Time {
  nowMs = startMs
  #work: (() => void) | undefined
  #dueMs = 0

  readonly clock = (): number => this.nowMs
  readonly schedule = (work: () => void, delayMs: number): (() => void) => {
    this.#work = work
    this.#dueMs = this.nowMs + delayMs
    return () => {
      this.#work = undefined
    }
  }

  get isIdle(): boolean {
    return this.#work === undefined
  }

  passUntil(endMs: number): void {
    while (this.#work !== undefined && this.#dueMs <= endMs) {
      this.nowMs = this.#dueMs
      const work = this.#work
      this.#work = undefined
      work()
    }
    this.nowMs = endMs
  }
}

interface Watch {
  readonly set: (things: readonly DatedThing[]) => void
  readonly close: () => void
}

interface Watching {
  readonly watch: Watch
  readonly expiry: ExpiryWatch
  readonly reports: ExpiryReport[]
  readonly states: () => string[]
}

function watchOver(time: Time): Watching {
  const reports: ExpiryReport[] = []
  const expiry = new ExpiryWatch({ time, onReport: (report) => reports.push(report) })
  const watch: Watch = { set: (things) => expiry.setThings('sites', things), close: () => expiry.close() }
  return { watch, expiry, reports, states: () => reports.map(({ state }) => state) }
}

let serials = 0

function watched(name: string, fromDays: number, toDays: number): DatedThing {
  serials += 1
  return {
    kind: 'leaf',
    name,
    file: `${name}.pem`,
    vhosts: ['site.example', 'www.site.example'],
    notBeforeMs: startMs + fromDays * dayMs,
    notAfterMs: startMs + toDays * dayMs,
    serial: `${serials}`,
    fingerprint256: `fingerprint ${serials}`,
  }
}

test('a certificate that is well is not reported when it is loaded', () => {
  const { watch, reports } = watchOver(new Time())
  watch.set([watched('site', -1, 89)])
  assert.deepEqual(reports, [])
})

test('a certificate that is not well is reported once when it is loaded, with what an operator needs', () => {
  const { watch, reports } = watchOver(new Time())
  const site = watched('site', -80, 10)
  watch.set([site])
  watch.set([site])
  assert.deepEqual(reports, [
    {
      certificate: 'site',
      kind: 'leaf',
      vhosts: ['site.example', 'www.site.example'],
      file: 'site.pem',
      state: 'warn',
      notAfter: '2026-01-11T00:00:00.000Z',
      daysLeft: 10,
      serial: site.serial,
      fingerprint256: site.fingerprint256,
    },
  ])
})

test('a life of 90 days: each change of state at its time, and a reminder every day in between', () => {
  const time = new Time()
  const { watch, reports, states } = watchOver(time)
  watch.set([watched('site', 0, 90)])
  time.passUntil(startMs + 93 * dayMs)
  assert.deepEqual(states(), [
    ...Array(16).fill('warn'), // from 22.5 days left to 7
    ...Array(8).fill('critical'), // from 7 days left to the last moment
    ...Array(3).fill('expired'),
  ])
  assert.equal(reports[0]?.daysLeft, 22)
})

test('a life of ten years is warned of a month before its end', () => {
  const time = new Time()
  const { watch, reports } = watchOver(time)
  watch.set([watched('site', 0, 3_650)])
  time.passUntil(startMs + 3_619.9 * dayMs)
  assert.deepEqual(reports, [])
  time.passUntil(startMs + 3_620.1 * dayMs)
  assert.equal(reports.length, 1)
})

test('a life of half an hour is followed in steps that fit it', () => {
  const time = new Time()
  const { watch, reports, states } = watchOver(time)
  watch.set([watched('site', 0, 0.5 / 24)])
  time.passUntil(startMs + hourMs)
  assert.deepEqual(states(), ['warn', 'critical', 'expired'])
  assert.equal(reports[0]?.daysLeft, 0)
})

test('a certificate from the future is reported, and again when it has become valid', () => {
  const time = new Time()
  const { watch, states } = watchOver(time)
  watch.set([watched('site', 0.5, 90)])
  time.passUntil(startMs + dayMs)
  assert.deepEqual(states(), ['not_yet_valid', 'ok'])
})

test('a renewal in time is no news; one after a warning is reported as ok', () => {
  const time = new Time()
  const { watch, states } = watchOver(time)
  watch.set([watched('early', 0, 90), watched('late', -80, 10)])
  watch.set([watched('early', 0, 91), watched('late', 0, 90)])
  assert.deepEqual(states(), ['warn', 'ok'])
})

test('another certificate that is no better is reported although the state is the same', () => {
  const { watch, reports } = watchOver(new Time())
  watch.set([watched('site', -80, 10)])
  watch.set([watched('site', -79, 10)])
  assert.equal(reports.length, 2)
  assert.notEqual(reports[0]?.fingerprint256, reports[1]?.fingerprint256)
})

test('a certificate that is taken away and comes back is reported anew', () => {
  const { watch, reports } = watchOver(new Time())
  const site = watched('site', -80, 10)
  watch.set([site])
  watch.set([])
  watch.set([site])
  assert.equal(reports.length, 2)
})

test("each source speaks for its own things, of all kinds, and two of one name do not get in each other's way", () => {
  const { expiry, reports } = watchOver(new Time())
  expiry.setThings('sites', [watched('one', -80, 10)])
  expiry.setThings('clients', [{ ...watched('one', -80, 10), kind: 'client_ca' }])
  expiry.setThings('upstreams', [{ ...watched('two', -80, 10), kind: 'upstream' }])
  expiry.setThings('clients', [])
  assert.deepEqual(
    reports.map(({ kind, certificate }) => `${kind} ${certificate}`),
    ['leaf one', 'client_ca one', 'upstream two'],
  )
})

test('the shortest life sets the pace, between a second and a minute', () => {
  const pace = (days: number): number => {
    const delays: number[] = []
    const schedule = (_work: () => void, delayMs: number): (() => void) => {
      delays.push(delayMs)
      return () => {}
    }
    const expiry = new ExpiryWatch({
      time: { clock: () => startMs, schedule },
      onReport: () => {},
    })
    expiry.setThings('sites', [watched('long', 0, 3_650), watched('short', 0, days)])
    return delays[0] ?? 0
  }
  assert.deepEqual([3_650, 90, 1 / 24, 1 / 1_440].map(pace), [60_000, 60_000, 18_000, 1_000])
})

test('a closed watch has no timer and reports nothing', () => {
  const time = new Time()
  const { watch, reports } = watchOver(time)
  watch.set([watched('site', -1, 30)])
  assert.equal(time.isIdle, false)
  watch.close()
  assert.equal(time.isIdle, true)
  time.passUntil(startMs + 40 * dayMs)
  assert.deepEqual(reports, [])
})
