import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pino } from 'pino'
import { type RequestEntry, RequestLineWriter } from '../../src/telemetry/request-line.js'
import { requestEntry } from './entries.js'

const time = '2026-02-03T04:05:06.789Z'
const writer = new RequestLineWriter()

function lineOf(entry: RequestEntry): string {
  const { bytes, length } = writer.write(entry, time)
  return bytes.toString('latin1', 0, length)
}

test('a request line is byte for byte what pino writes for the same fields', () => {
  const entry = requestEntry({ durationMs: 2.123, headers: { 'cf-ray': '1-FRA', 'user-agent': 'a "b" \\ c' } })
  let line = ''
  const options = {
    base: null,
    timestamp: () => `,"time":"${time}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const events = pino(options, { write: (text: string) => (line = text) })
  events.info({ event: 'request', ...entry, upstreamMs: 1.255 }, 'request')
  assert.equal(lineOf({ ...entry, upstreamMs: 1.255 }), line)
})

test('the fields stand in the order of the contract', () => {
  const fields = Object.keys(JSON.parse(lineOf(requestEntry({ headers: {} }))))
  assert.deepEqual(fields, ['level', 'time', 'event', ...Object.keys(requestEntry()), 'headers', 'msg'])
})

test('attempts are told of only where there was more than one', () => {
  const failedAttempts = ['http://127.0.0.1:1 upstream_unreachable', 'unix:/run/"a" 503']
  const { attempts, failedAttempts: told } = JSON.parse(lineOf(requestEntry({ headers: { a: 'b' }, failedAttempts })))
  assert.deepEqual([attempts, told], [3, failedAttempts])
  assert.equal('attempts' in JSON.parse(lineOf(requestEntry())), false)
  const many = Array.from({ length: 1000 }, (_, index) => `http://10.0.0.1:${index} upstream_reset`)
  assert.deepEqual(JSON.parse(lineOf(requestEntry({ failedAttempts: many }))).failedAttempts, many)
})

test('a second claim, or why there is none, is told of only where there is something to tell', () => {
  const claims = { connectionClaimed: '[2001:db8::7]:1', connectionClaimedBy: 'proxy-v2', claimRefused: 'duplicated' }
  const parsed = JSON.parse(lineOf(requestEntry(claims)))
  assert.deepEqual([parsed.connectionClaimed, parsed.connectionClaimedBy, parsed.claimRefused], Object.values(claims))
  for (const name of Object.keys(claims)) assert.equal(name in JSON.parse(lineOf(requestEntry())), false)
})

test('what exactly was wrong is told where something was, and cut where it is long', () => {
  const detailOf = (detail: string) => JSON.parse(lineOf(requestEntry({ headers: { a: 'b' }, detail }))).detail
  assert.equal('detail' in JSON.parse(lineOf(requestEntry())), false)
  const longest = '\u2603'.repeat(500)
  assert.equal(detailOf(longest), longest)
  assert.equal(detailOf(`${longest}x`), `${longest.slice(1)}\u2026`)
})

test('what was never known is null', () => {
  const unknown: Record<string, null> = {}
  for (const name of Object.keys(requestEntry())) unknown[name] = null
  const kept = { listener: 'public', reason: 'bad_request', bytesReceived: 0, bytesSent: 0 }
  const parsed = JSON.parse(lineOf({ ...requestEntry(), ...(unknown as object), ...kept }))
  assert.deepEqual(parsed, { level: 'info', time, event: 'request', ...unknown, ...kept, msg: 'request' })
})

test('a number that JSON cannot say is null', () => {
  const parsed = JSON.parse(lineOf(requestEntry({ durationMs: Number.NaN, upstreamMs: Number.POSITIVE_INFINITY })))
  assert.equal(parsed.durationMs, null)
  assert.equal(parsed.upstreamMs, null)
})

test('a line that outgrows the buffer is whole, and so is the next', () => {
  const target = `/${'\u00e4"'.repeat(20_000)}`
  assert.equal(JSON.parse(lineOf(requestEntry({ target }))).target, target)
  assert.equal(JSON.parse(lineOf(requestEntry({ target: '/' }))).target, '/')
})

test('the time of each line is its own', () => {
  writer.write(requestEntry(), time)
  const { bytes, length } = writer.write(requestEntry(), '2027-01-01T00:00:00.000Z')
  assert.equal(JSON.parse(bytes.toString('latin1', 0, length)).time, '2027-01-01T00:00:00.000Z')
})

test('property: whatever a client sends, the line is printable ASCII and parses back to it', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) }),
    fc.string({ unit: fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCharCode(code)) }),
    fc.constantFrom('"', '\\', '\n', '\u007f', '\u009b31m', '\u2028', '\ud800', '\udc00x', '</script>', '\u0000'),
  )
  const header = fc.tuple(
    hostile.filter((name) => name !== '__proto__'),
    hostile,
  )
  fc.assert(
    fc.property(hostile, hostile, hostile, fc.array(header), (host, target, sni, pairs) => {
      const headers = Object.fromEntries(pairs)
      const line = lineOf(requestEntry({ host, target, sni, headers }))
      assert.match(line, /^[\x20-\x7e]+\n$/)
      const parsed = JSON.parse(line)
      assert.deepEqual([parsed.host, parsed.target, parsed.sni, parsed.headers], [host, target, sni, headers])
    }),
    { numRuns: 500 },
  )
})

test('property: numbers come back as they went in, durations to the microsecond', () => {
  const any = fc.oneof(
    fc.integer(),
    fc.maxSafeNat(),
    fc.double(),
    fc.constantFrom(0, 9, 10, 99, 100, 2 ** 30 - 1, 2 ** 30),
  )
  fc.assert(
    fc.property(any, fc.double({ min: 0, max: 1e6, noNaN: true }), (bytesSent, durationMs) => {
      const parsed = JSON.parse(lineOf(requestEntry({ bytesSent, durationMs })))
      const expected = Number.isFinite(bytesSent) ? bytesSent : null
      assert.ok(parsed.bytesSent === expected, `${parsed.bytesSent} is not ${expected}`)
      assert.equal(parsed.durationMs, Math.round(durationMs * 1000) / 1000)
    }),
    { numRuns: 500 },
  )
})
