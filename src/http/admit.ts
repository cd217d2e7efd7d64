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
  const refusal = isRequired ? certificateRefusal(policy.id, connection, exchange.client) : undefined
  if (refusal !== undefined) exchange.isConnectionStale = isStale(exchange, site, refusal)
  return refusal
}

// CDNs keep connections for hours. One whose certificate has ended, or that was opened for this very site before a reload
// changed the demand, would be refused all that time, where a new one shows the renewed certificate or is asked for one.
function isStale({ downstream, view }: Exchange, site: VirtualHost, { code }: Failure): boolean {
  if (code === 'client_certificate_expired') return true
  const { sni } = downstream.connection
  return code === 'client_certificate_other_connection' && sni !== null && view.sites.get(sni) === site
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
