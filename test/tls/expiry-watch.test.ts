// Lives of certificates, told in reports; time passes at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExpiryReport, WatchedCertificate } from '../../src/tls/expiry-watch.js'
import { ExpiryWatch } from '../../src/tls/expiry-watch.js'
import { proved } from './proved.js'

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

function watchOver(time: Time): { watch: ExpiryWatch; reports: ExpiryReport[]; states: () => string[] } {
  const reports: ExpiryReport[] = []
  const watch = new ExpiryWatch({ ...time, clock: time.clock, onReport: (report) => reports.push(report) })
  return { watch, reports, states: () => reports.map(({ state }) => state) }
}

async function watched(name: string, fromDays: number, toDays: number): Promise<WatchedCertificate> {
  const certificate = await proved({
    names: ['site.example'],
    notBefore: new Date(startMs + fromDays * dayMs),
    notAfter: new Date(startMs + toDays * dayMs),
  })
  return { name, certificate, vhosts: ['site.example', 'www.site.example'] }
}

test('a certificate that is well is not reported when it is loaded', async () => {
  const { watch, reports } = watchOver(new Time())
  watch.setCertificates([await watched('site', -1, 89)])
  assert.deepEqual(reports, [])
})

test('a certificate that is not well is reported once when it is loaded, with what an operator needs', async () => {
  const { watch, reports } = watchOver(new Time())
  const site = await watched('site', -80, 10)
  watch.setCertificates([site])
  watch.setCertificates([site])
  assert.deepEqual(reports, [
    {
      certificate: 'site',
      vhosts: ['site.example', 'www.site.example'],
      file: 'site.pem',
      state: 'warn',
      notAfter: '2026-01-11T00:00:00.000Z',
      daysLeft: 10,
      serial: site.certificate.serial,
      fingerprint256: site.certificate.fingerprint256,
    },
  ])
})

test('a life of 90 days: each change of state at its time, and a reminder every day in between', async () => {
  const time = new Time()
  const { watch, reports, states } = watchOver(time)
  watch.setCertificates([await watched('site', 0, 90)])
  time.passUntil(startMs + 93 * dayMs)
  assert.deepEqual(states(), [
    ...Array(16).fill('warn'), // from 22.5 days left to 7
    ...Array(8).fill('critical'), // from 7 days left to the last moment
    ...Array(3).fill('expired'),
  ])
  assert.equal(reports[0]?.daysLeft, 22)
})

test('a life of ten years is warned of a month before its end', async () => {
  const time = new Time()
  const { watch, reports } = watchOver(time)
  watch.setCertificates([await watched('site', 0, 3_650)])
  time.passUntil(startMs + 3_619.9 * dayMs)
  assert.deepEqual(reports, [])
  time.passUntil(startMs + 3_620.1 * dayMs)
  assert.equal(reports.length, 1)
})

test('a life of half an hour is followed in steps that fit it', async () => {
  const time = new Time()
  const { watch, reports, states } = watchOver(time)
  watch.setCertificates([await watched('site', 0, 0.5 / 24)])
  time.passUntil(startMs + hourMs)
  assert.deepEqual(states(), ['warn', 'critical', 'expired'])
  assert.equal(reports[0]?.daysLeft, 0)
})

test('a certificate from the future is reported, and again when it has become valid', async () => {
  const time = new Time()
  const { watch, states } = watchOver(time)
  watch.setCertificates([await watched('site', 0.5, 90)])
  time.passUntil(startMs + dayMs)
  assert.deepEqual(states(), ['not_yet_valid', 'ok'])
})

test('a renewal in time is no news; one after a warning is reported as ok', async () => {
  const time = new Time()
  const { watch, states } = watchOver(time)
  watch.setCertificates([await watched('early', 0, 90), await watched('late', -80, 10)])
  watch.setCertificates([await watched('early', 0, 91), await watched('late', 0, 90)])
  assert.deepEqual(states(), ['warn', 'ok'])
})

test('another certificate that is no better is reported although the state is the same', async () => {
  const { watch, reports } = watchOver(new Time())
  watch.setCertificates([await watched('site', -80, 10)])
  watch.setCertificates([await watched('site', -79, 10)])
  assert.equal(reports.length, 2)
  assert.notEqual(reports[0]?.fingerprint256, reports[1]?.fingerprint256)
})

test('a certificate that is taken away and comes back is reported anew', async () => {
  const { watch, reports } = watchOver(new Time())
  const site = await watched('site', -80, 10)
  watch.setCertificates([site])
  watch.setCertificates([])
  watch.setCertificates([site])
  assert.equal(reports.length, 2)
})

test('a closed watch has no timer and reports nothing', async () => {
  const time = new Time()
  const { watch, reports } = watchOver(time)
  watch.setCertificates([await watched('site', -1, 30)])
  assert.equal(time.isIdle, false)
  watch.close()
  assert.equal(time.isIdle, true)
  time.passUntil(startMs + 40 * dayMs)
  assert.deepEqual(reports, [])
})
