// The third step of a request: whether this connection has proved what the target site demands. The answer depends on the
// site that the request is for and on this connection's own handshake; the name it was opened for alone answers nothing.
import { type ClientVerdict, judgeClient } from '../tls/client-judgement.js'
import type { Connection } from '../wire/connection.js'
import { Failure } from '../wire/failure.js'
import type { Exchange } from './exchange.js'
import type { VirtualHost } from './routing.js'

const otherVersion = new Failure('tls_version_other_connection', 'the connection speaks TLS 1.2')
const otherConnection = new Failure(
  'client_certificate_other_connection',
  'the handshake was made under another policy, and what it proved does not satisfy this one',
)

/** Why the site does not serve this request; undefined where it does. What it finds out of the client stays with the exchange. */
export function admit(exchange: Exchange, site: VirtualHost): Failure | undefined {
  const { connection } = exchange.downstream
  if (site.needsTls13 === true && connection.tlsVersion === 'TLSv1.2') return otherVersion
  const { clientCertificate } = site
  if (clientCertificate === undefined) return undefined
  const { policy, isRequired } = clientCertificate
  const { clientProof } = connection
  exchange.client = clientProof && judgeClient(policy, clientProof, Date.now())
  return isRequired ? certificateRefusal(policy.id, connection, exchange.client) : undefined
}

// 421 (RFC 9110 §15.5.20) tells a client to come again on a connection of its own for this name, which will be asked under
// this site's policy. Where this one was, another would get no further.
function certificateRefusal(
  policyId: string,
  { clientProof }: Connection,
  verdict: ClientVerdict | undefined,
): Failure | undefined {
  if (verdict?.reason === 'good') return undefined
  if (verdict === undefined || clientProof?.policyId !== policyId) return otherConnection
  return new Failure(`client_certificate_${verdict.reason}`, verdict.detail)
}
