// Compares what an upstream saw with what the log says: the two must not disagree on where a request ends.
import assert from 'node:assert/strict'
import type { RequestEntry } from '../../src/telemetry/request-line.js'
import type { SeenRequest } from './request-reader.js'

/** Every request that the upstream saw is logged, and all that ended well were seen, with as many bytes. */
export function assertSameRequests(requests: readonly SeenRequest[], entries: readonly RequestEntry[]): void {
  const seen = requests.map(({ head, body }) => ({ name: head.slice(0, head.indexOf(' HTTP/1.1\r\n')), body }))
  const logged = entries.filter((entry) => entry.upstream !== null)
  // What the client broke off may have reached the upstream whole or not; everything else did.
  for (const { method, target, bytesReceived } of logged.filter(({ reason }) => reason === 'ok')) {
    const isSeen = seen.some(({ name, body }) => name === `${method} ${target}` && body.length === bytesReceived)
    assert.ok(isSeen, `the upstream has not seen ${method} ${target} with ${bytesReceived} bytes`)
  }
  const names = logged.map(({ method, target }) => `${method} ${target}`)
  for (const { name } of seen) {
    const at = names.indexOf(name)
    assert.notEqual(at, -1, `the upstream saw ${name}, which is not in the log`)
    names.splice(at, 1)
  }
}
