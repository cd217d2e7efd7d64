// Which endpoints of an upstream a request would be sent to, in what order. The upstream itself says; nothing is sent.
// Used by why.
import type { Upstream } from '../upstream/upstream.js'

/** The part of a request that may decide. */
export interface AskedRequest {
  readonly host: string
  readonly path: string
  /** Undefined where it was not asked for one. */
  readonly client: string | undefined
}

/** An upstream as `why --json` prints it. */
export interface ExplainedUpstream {
  readonly upstream: string
  readonly balance: string
  /** What decides of the request and was not asked for, so that the order is but one of several. */
  readonly dependsOn: string | null
  /** Labels, as a server without failures tries them. */
  readonly endpoints: readonly string[]
}

/** Asks an upstream for its order. */
export function explainUpstream(upstream: Upstream, request: AskedRequest): ExplainedUpstream {
  const { host, path, client } = request
  const facts = { host, path, clientAddress: client ?? '', header: unknown, cookie: unknown }
  const endpoints = upstream.order(upstream.hashOf(facts)).map(({ label }) => label)
  return { upstream: upstream.name, balance: balanceOf(upstream), dependsOn: missingOf(upstream, client), endpoints }
}

function unknown(): undefined {
  return undefined
}

function balanceOf({ balance }: Upstream): string {
  return balance.kind === 'hash' ? `hash of the ${keyOf(balance.key)}` : balance.kind
}

type HashKey = Extract<Upstream['balance'], { kind: 'hash' }>['key']

function keyOf(key: HashKey): string {
  return 'name' in key ? `${key.kind} ${key.name}` : key.kind
}

const undecided = {
  'round-robin': 'whose turn it is',
  'least-requests': 'the requests under way',
  'random-two': 'chance',
}

function missingOf({ balance, endpoints }: Upstream, client: string | undefined): string | null {
  if (endpoints.length < 2) return null
  if (balance.kind !== 'hash') return undecided[balance.kind]
  const isGiven = !('name' in balance.key) && (balance.key.kind !== 'client' || client !== undefined)
  return isGiven ? null : `the ${keyOf(balance.key)}`
}
