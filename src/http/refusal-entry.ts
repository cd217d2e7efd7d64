// The access log's line for what a codec could not parse: what is known of it, and nulls. Used by the handler.
import type { RequestEntry } from '../telemetry/request-line.js'
import type { Refusal } from '../wire/downstream.js'
import type { ListenerView } from './routing.js'

/** The entry of a refused request. */
export function refusalEntry(refusal: Refusal, view: ListenerView): RequestEntry {
  const { connection } = refusal
  return {
    listener: view.listener,
    vhost: null,
    host: refusal.host,
    sni: connection.sni,
    protocol: refusal.protocol,
    tlsVersion: connection.tlsVersion,
    method: refusal.method,
    target: refusal.target === null || view.logQuery ? refusal.target : (refusal.target.split('?', 1)[0] ?? null),
    status: refusal.status,
    reason: refusal.failure.code,
    detail: refusal.failure.detail,
    peer: connection.peer,
    claimed: connection.claimed,
    claimedBy: connection.claimedBy,
    upstream: null,
    upstreamStatus: null,
    upstreamMs: null,
    requestId: null,
    connectionId: connection.id,
    generation: view.generation,
    durationMs: null,
    bytesReceived: 0,
    bytesSent: 0,
  }
}
