// The failures of requests on a connection to an endpoint, in words for the log, each with what may be done about it. Pure;
// used by the client connection.
import { Failure, type RetryRule, type Suspect } from '../wire/failure.js'
import { ErrorCode, errorName } from './frames.js'

/** We end, and nobody is to try again. */
export const closedHere = new Failure('shutdown', 'the connection to the endpoint was ended here')

/** The connection closes with nothing in flight. */
export const left = new Failure('upstream_reset', 'the connection has ended')

/** A request came when its connection took no more. */
export const neverSent = new Failure('upstream_reset', 'the connection takes no more requests', {
  retry: 'always',
  suspect: 'connection',
})

/** RFC 8441 §3: what is not offered may not be asked for. */
export const noSwitch = new Failure(
  'upstream_protocol',
  'the endpoint does not offer extended CONNECT, which a switch of protocols needs',
)

/** The endpoint reset a stream. RFC 9113 §8.7: one that it refused it has not looked at. */
export function resetFailure(code: number, answer: 'unanswered' | 'begun'): Failure {
  const detail = `the endpoint reset the stream: ${errorName(code)}`
  const isRefused = code === ErrorCode.refusedStream && answer === 'unanswered'
  if (!isRefused) return new Failure('upstream_reset', detail, { resetCode: code })
  // For want of room: another connection may have some.
  return new Failure('upstream_reset', detail, { retry: 'always', suspect: 'connection', resetCode: code })
}

/** The endpoint said GOAWAY, and has not looked at the stream (RFC 9113 §6.8); `text` is what it said of the reason. */
export function goodbyeFailure(code: number, text: string): Failure {
  const printable = text.replace(/[^\x20-\x7e]/g, '?')
  const detail = `the endpoint said goodbye: ${errorName(code)} ${printable}`.trimEnd()
  return new Failure('upstream_reset', detail, { retry: 'always', suspect: 'connection' })
}

/** The same failure for a request that may be sent again; not while we end ourselves. */
export function retried(failure: Failure, rules: { retry: RetryRule; suspect: Suspect }): Failure {
  if (failure.code === 'shutdown') return failure
  return new Failure(failure.code, failure.detail, { ...rules, cause: failure.cause })
}
