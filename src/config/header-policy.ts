// From the header policies of a valid site to what the program uses. Used by site.ts.

import type { HeaderPolicyConfig, RequestHeaderPolicyConfig, VhostConfig } from './config.js'
import type { VhostInput } from './schema-vhost.js'

type PolicyInput = VhostInput['headers']['response']

/** Both policies; Host stands apart, because no wire carries it as a header line like others. */
export function toHeaders({ request, response }: VhostInput['headers']): VhostConfig['headers'] {
  return { request: toRequestPolicy(request), response: toPolicy(response) }
}

function toRequestPolicy(input: PolicyInput): RequestHeaderPolicyConfig {
  const { set, remove } = toPolicy(input)
  const host = set.find(isHost)?.value
  return { host, set: set.filter((line) => !isHost(line)), remove }
}

function toPolicy({ set, remove }: PolicyInput): HeaderPolicyConfig {
  return { set: Object.entries(set).map(([name, value]) => ({ name, value })), remove }
}

function isHost({ name }: { readonly name: string }): boolean {
  return name.toLowerCase() === 'host'
}
