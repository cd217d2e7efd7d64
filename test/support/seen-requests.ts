// Compares what an upstream saw with what the log says: the two must not disagree on where a request ends.
import assert from 'node:assert/strict'
import type { RequestEntry } from '../../src/telemetry/request-line.js'
import type { SeenRequest } from './request-reader.js'

/** Every request that the upstream saw is logged, and all that ended well were seen, with as many bytes. */
export function assertSameRequests(requests: readonly SeenRequest[], entries: readonly RequestEntry[]): void {
  const seen = requests.map(({ head, body }) => ({ name: head.slice(0, head.indexOf(' HTTP/1.1\r\n')), body }))
  const logged = entries.filter((entry) => entry.upstream !== null)
  // What the client broke off may have reached the upstream whole or not; everything else did.
  for (const entry of logged.filter(({ reason }) => reason === 'ok')) {
    const { bytesReceived } = entry
    const isSeen = seen.some(({ name, body }) => name === nameOf(entry) && body.length === bytesReceived)
    assert.ok(isSeen, `the upstream has not seen ${nameOf(entry)} with ${bytesReceived} bytes`)
  }
  const names = logged.map(nameOf)
  for (const { name } of seen) {
    const at = names.indexOf(name)
    assert.notEqual(at, -1, `the upstream saw ${name}, which is not in the log`)
    names.splice(at, 1)
  }
}

/** As an endpoint sees it: a WebSocket that HTTP/2 opens by CONNECT is opened by GET there (RFC 8441 §5). */
function nameOf({ method, target }: RequestEntry): string {
  return `${method === 'CONNECT' ? 'GET' : method} ${target}`
}
