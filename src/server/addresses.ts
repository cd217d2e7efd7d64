// What the addresses of the configuration mean while it serves: sets as they are now, also for sites whose last good version
// named them long ago. Used by the snapshot.
import type { AddressesConfig, AddressSetConfig, ListenerConfig, VhostConfig } from '../config/config.js'
import { AddressRule } from '../http/address-rule.js'
import { ClientClaims } from '../http/client-claims.js'
import type { AddressRules } from '../listener/address-rules.js'
import type { ProxyHeaderRules } from '../listener/preamble.js'
import { type AddressTest, unionOf } from '../net/cidr.js'

/** Sets of addresses by name. */
export type AddressSets = ReadonlyMap<string, AddressSetConfig>

/** Which PROXY headers a listener believes; undefined where it looks for none. */
export function proxyHeaderRules(
  { proxyProtocol }: ListenerConfig,
  current: AddressSets,
): ProxyHeaderRules | undefined {
  if (proxyProtocol === undefined || proxyProtocol.mode === 'off') return undefined
  const { from, mode, versions } = proxyProtocol
  return { from: addressesOf(from, current), mode, versions }
}

/** The only addresses that may connect; undefined where all may. */
export function listenerAllow({ allow }: ListenerConfig, current: AddressSets): AddressRules | undefined {
  return allow && { of: allow.of, from: addressesOf(allow.from, current) }
}

/** The same for what is open already. */
export function openAllow(listener: ListenerConfig, current: AddressSets): AddressRule | undefined {
  const rules = listenerAllow(listener, current)
  return rules && new AddressRule(rules)
}

/** The only addresses that a site serves; undefined where it serves all. */
export function siteAllow({ allow }: VhostConfig, current: AddressSets): AddressRule | undefined {
  return allow && new AddressRule({ of: allow.of, from: addressesOf(allow.from, current) })
}

/** The request headers that a listener believes; undefined where it believes none. */
export function clientClaims(
  { clientAddress, trustProto }: ListenerConfig,
  current: AddressSets,
): ClientClaims | undefined {
  if (clientAddress.length === 0) return undefined
  const sources = clientAddress.map((source) => ({ ...source, from: addressesOf(source.from, current) }))
  return new ClientClaims({ sources, trustProto })
}

/** The hashes of the sets that a site is compiled with, where they are found. */
export type SiteSets = readonly string[]

const noSets: SiteSets = []

/** What the sets of a site are now; its last good version may have been built of others. */
export function currentSets({ allow }: VhostConfig, current: AddressSets): SiteSets {
  return allow === undefined ? noSets : allow.from.sets.map((set) => (current.get(set.name) ?? set).hash)
}

/** Whether these are the same addresses. */
export function isSameSets(left: SiteSets, right: SiteSets): boolean {
  return left === right || (left.length === right.length && left.every((hash, index) => hash === right[index]))
}

function addressesOf({ ranges, sets }: AddressesConfig, current: AddressSets): AddressTest {
  return unionOf([ranges, ...sets.map((set) => (current.get(set.name) ?? set).addresses)])
}
