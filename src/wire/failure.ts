// Why an exchange could not be served: one table from code to status, used by the codecs (which answer what they cannot
// parse), by forwarding (which retries) and by the log. Codes are the log's `reason` and are listed in the README.

type Side = 'downstream' | 'upstream' | 'internal'

interface FailureRule {
  /** The status that a client gets while no head has been sent. */
  readonly status: number
  readonly side: Side
  /** What an operator reads in the README and in `hostward why`. */
  readonly meaning: string
}

function rule(status: number, side: Side, meaning: string): FailureRule {
  return { status, side, meaning }
}

/** Every failure code with the status that answers it, the side that caused it, and its meaning. */
export const failureRules = {
  bad_request: rule(400, 'downstream', 'the request line or the framing of the request is malformed'),
  bad_header: rule(400, 'downstream', 'a header line is malformed'),
  bad_authority: rule(400, 'downstream', 'no host, two hosts, or something that is not one host name'),
  bad_body: rule(400, 'downstream', 'the body is not framed as its headers announce'),
  request_timeout: rule(
    408,
    'downstream',
    'the head or the body of the request did not arrive in time, or less than limits.bodyBytesPerSecondMin',
  ),
  ambiguous_path: rule(400, 'downstream', 'the path leads to one route or another, depending on who reads it'),
  body_too_large: rule(413, 'downstream', 'the body exceeds limits.requestBodyBytes of the site'),
  target_too_long: rule(414, 'downstream', 'the request target exceeds limits.targetBytes'),
  expectation_failed: rule(417, 'downstream', 'an Expect header that is not 100-continue'),
  unknown_host: rule(421, 'downstream', 'no site on this listener claims the host'),
  peer_not_allowed: rule(
    403,
    'downstream',
    'the site serves certain addresses alone (`allow`), and not this one; or its listener does, since a reload',
  ),
  client_certificate_missing: rule(
    403,
    'downstream',
    'the site demands a client certificate, and the client sent none',
  ),
  client_certificate_invalid: rule(
    403,
    'downstream',
    'the client certificate does not lead to an authority that the site trusts, or is not for clients',
  ),
  client_certificate_expired: rule(403, 'downstream', 'the client certificate or its issuer is not valid at this time'),
  client_certificate_not_allowed: rule(
    403,
    'downstream',
    'the client certificate is none of those that the site allows',
  ),
  client_certificate_other_connection: rule(
    421,
    'downstream',
    'the site demands a client certificate, and this connection was opened for a name that demands another one or none',
  ),
  tls_version_other_connection: rule(
    421,
    'downstream',
    'the site demands TLS 1.3, and this connection was opened with TLS 1.2 for another name',
  ),
  headers_too_large: rule(431, 'downstream', 'the headers exceed limits.headerBytes or limits.headerCount'),
  not_implemented: rule(501, 'downstream', 'a transfer coding or a method that cannot be forwarded'),
  version_not_supported: rule(505, 'downstream', 'an HTTP version that is not spoken here'),
  too_many_pipelined: rule(503, 'downstream', 'more requests pipelined than limits.pipelined'),
  flood: rule(503, 'downstream', 'the connection made more work than it paid for and was closed'),
  client_gone: rule(499, 'downstream', 'the client left before the answer was complete'),
  client_stalled: rule(
    408,
    'downstream',
    'the client took nothing of the answer for timeouts.bodyIdleMs, or less than limits.bodyBytesPerSecondMin',
  ),
  no_endpoint: rule(503, 'upstream', 'no endpoint of the upstream is available'),
  overloaded: rule(503, 'upstream', 'too many requests wait for a connection to the endpoint, or one waited too long'),
  upstream_unreachable: rule(502, 'upstream', 'no connection to the endpoint could be made'),
  upstream_tls: rule(
    502,
    'upstream',
    'TLS to the endpoint could not be established, or its certificate is not accepted',
  ),
  upstream_reset: rule(502, 'upstream', 'the endpoint closed the connection before its answer was complete'),
  upstream_protocol: rule(502, 'upstream', 'the endpoint answered something that is not valid HTTP'),
  upstream_timeout: rule(504, 'upstream', 'the endpoint did not answer, or stopped, for longer than its timeout'),
  site_removed: rule(503, 'internal', 'the site of an open tunnel is configured no more'),
  shutdown: rule(503, 'internal', 'the server ended before the exchange could'),
  internal_error: rule(500, 'internal', 'a mistake of Hostward itself; the log has the cause'),
} as const satisfies Record<string, FailureRule>

/** A code of the table of failures. */
export type FailureCode = keyof typeof failureRules

/** When another attempt cannot execute a request twice (RFC 9110 §9.2.2); `always` is: the endpoint has executed nothing. */
export type RetryRule = 'never' | 'if_idempotent' | 'always'

/** What a failed attempt casts doubt on: a connection that had been good before, or the endpoint. */
export type Suspect = 'connection' | 'endpoint'

/** Why an exchange, or one attempt of it, could not be served. Not an Error: networks fail all the time. */
export class Failure {
  readonly code: FailureCode
  /** What exactly was wrong, for the log; never sent to a client. */
  readonly detail: string
  readonly retry: RetryRule
  /** Whether another connection to the same endpoint may do better, or only another endpoint. */
  readonly suspect: Suspect
  readonly cause: unknown
  /** The code that an HTTP/2 endpoint reset its stream with; undefined for every other failure. */
  readonly resetCode: number | undefined

  constructor(
    code: FailureCode,
    detail: string,
    more: { retry?: RetryRule; suspect?: Suspect | undefined; cause?: unknown; resetCode?: number } = {},
  ) {
    this.code = code
    this.detail = detail
    this.retry = more.retry ?? 'never'
    this.suspect = more.suspect ?? 'endpoint'
    this.cause = more.cause
    this.resetCode = more.resetCode
  }

  get status(): number {
    return failureRules[this.code].status
  }

  get side(): Side {
    return failureRules[this.code].side
  }
}
