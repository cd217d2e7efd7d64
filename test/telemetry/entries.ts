// Request entries for the tests of the log.
import type { RequestEntry } from '../../src/telemetry/request-line.js'

/** A request that went well; `facts` replace its own. */
export function requestEntry(facts: Partial<RequestEntry> = {}): RequestEntry {
  return {
    listener: 'public',
    vhost: 'site-a.example.com',
    host: 'site-a.example.com',
    sni: 'site-b.example.com',
    protocol: 'http/1.1',
    tlsVersion: 'TLSv1.3',
    method: 'GET',
    target: '/a?b=c',
    status: 200,
    reason: 'ok',
    peer: '192.0.2.1:40000',
    claimed: '198.51.100.7:1234',
    claimedBy: 'proxy-protocol',
    upstream: '127.0.0.1:3001',
    upstreamStatus: 200,
    upstreamMs: 1.25,
    requestId: 'f00d',
    connectionId: 'c1',
    generation: 1,
    durationMs: 2.125,
    bytesReceived: 0,
    bytesSent: 1234567,
    ...facts,
  }
}
