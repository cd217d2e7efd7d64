// Failed handshakes become at most one line per reason and minute, and none of them is lost from the counts.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { HandshakeFailure, HandshakeFailureLine } from '../../src/listener/handshake-failures.js'
import { HandshakeFailures } from '../../src/listener/handshake-failures.js'

function failuresAt(): { failures: HandshakeFailures; clock: { nowMs: number }; lines: HandshakeFailureLine[] } {
  const clock = { nowMs: 0 }
  const lines: HandshakeFailureLine[] = []
  const failures = new HandshakeFailures({ report: (line) => lines.push(line), now: () => clock.nowMs })
  return { failures, clock, lines }
}

function failure(reason: string, port = 1): HandshakeFailure {
  return { listener: 'public', sni: 'site-a.test', peer: `192.0.2.1:${port}`, claimed: null, reason }
}

describe('failed handshakes', () => {
  it('are told at once the first time, with all that is known', () => {
    const { failures, lines } = failuresAt()
    failures.record(failure('not_tls'))
    assert.deepEqual(lines, [{ ...failure('not_tls'), count: 1 }])
  })

  it('of one reason are one line within a minute, and the next minute tells how many there were', () => {
    const { failures, clock, lines } = failuresAt()
    for (let port = 1; port <= 5; port++) failures.record(failure('not_tls', port))
    clock.nowMs = 59_999
    failures.record(failure('not_tls', 6))
    assert.equal(lines.length, 1)
    clock.nowMs = 60_000
    failures.record(failure('not_tls', 7))
    assert.deepEqual(lines.slice(1), [{ ...failure('not_tls', 7), count: 6 }])
  })

  it('of another reason or listener have a line of their own', () => {
    const { failures, lines } = failuresAt()
    failures.record(failure('not_tls'))
    failures.record(failure('timeout'))
    failures.record({ ...failure('timeout'), listener: 'other' })
    assert.deepEqual(
      lines.map((it) => [it.listener, it.reason, it.count]),
      [
        ['public', 'not_tls', 1],
        ['public', 'timeout', 1],
        ['other', 'timeout', 1],
      ],
    )
  })

  it('that nobody follows up are told by a sweep after their minute, not before', () => {
    const { failures, clock, lines } = failuresAt()
    for (const port of [1, 2, 3]) failures.record(failure('timeout', port))
    clock.nowMs = 59_999
    failures.sweep()
    assert.equal(lines.length, 1)
    clock.nowMs = 60_000
    failures.sweep()
    assert.deepEqual(lines.slice(1), [{ ...failure('timeout', 3), count: 2 }])
    clock.nowMs = 120_000
    failures.sweep()
    failures.record(failure('timeout', 4))
    assert.deepEqual(lines.slice(2), [{ ...failure('timeout', 4), count: 1 }])
  })

  it('are all told at the shutdown', () => {
    const { failures, lines } = failuresAt()
    for (const port of [1, 2, 3]) failures.record(failure('timeout', port))
    failures.record(failure('not_tls'))
    failures.flush()
    assert.deepEqual(
      lines.map((it) => [it.reason, it.count]),
      [
        ['timeout', 1],
        ['not_tls', 1],
        ['timeout', 2],
      ],
    )
  })

  it('of more reasons than anybody needs share one count', () => {
    const { failures, lines } = failuresAt()
    for (let number = 0; number < 1000; number++) failures.record(failure(`reason_${number}`))
    failures.flush()
    assert.equal(lines.length, 256 + 2)
    assert.deepEqual(
      lines.slice(255).map((it) => [it.reason, it.count]),
      [
        ['reason_255', 1],
        ['other', 1],
        ['other', 743],
      ],
    )
  })
})
