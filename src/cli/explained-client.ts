// Who a client is taken for at a listener, and whose word that is. Used by why.
import type { ListenerPlan } from '../server/snapshot.js'
import type { Visit } from './visit.js'

/** A client as `why --json` prints it. */
export interface ExplainedClient {
  /** What endpoints are told. */
  readonly address: string
  /** Whose word that is: `peer` is measured, `proxy_header`, or `header:` and the name. */
  readonly by: string
  readonly scheme: 'http' | 'https'
  /** Whether X-Forwarded-Proto is believed instead, where it is one sound line. */
  readonly isSchemeClaimed: boolean
  /** The address in the header of its request that nobody takes for the client, null where there is none. */
  readonly notBelieved: string | null
}

/** What the listener of `plan` makes of a client. */
export function explainClient(
  { asked, claim, clientAddress, downstream, scheme }: Visit,
  plan: ListenerPlan,
): ExplainedClient {
  const nearest = downstream.connection.claimedAddress === null ? 'peer' : 'proxy_header'
  const isBelieved = claim !== undefined && claim.address !== null
  return {
    address: clientAddress,
    by: isBelieved ? claim.by : nearest,
    scheme,
    isSchemeClaimed: claim !== undefined && plan.config.trustProto,
    notBelieved: isBelieved ? null : (asked.client ?? null),
  }
}

/** What would make more of it: why a word that was given does not count. */
export function clientHints(
  { asked, claim, closed, downstream }: Visit,
  { config, proxyHeader }: ListenerPlan,
): readonly string[] {
  if (closed !== undefined) return []
  const hints: string[] = []
  if (asked.claimed !== undefined && proxyHeader === undefined) {
    hints.push('no PROXY header is looked for here: proxyProtocol says whose are believed')
  }
  if (asked.client !== undefined && claim === undefined) {
    const { claimedAddress, peerAddress } = downstream.connection
    const source = claimedAddress ?? peerAddress
    const whose =
      config.clientAddress.length === 0
        ? 'the listener has no clientAddress'
        : `its clientAddress does not list ${source}`
    hints.push(`nobody's word is taken for the client: ${whose}`)
  }
  return hints
}
