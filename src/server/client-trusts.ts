// The authorities of client certificates, read once for equal files and kept across reloads. Used where sites are judged,
// for a site whose authorities cannot be read must stay closed, and by the snapshot.
import type { ClientCertificateConfig, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import { type ClientPolicy, clientPolicy } from '../tls/client-policy.js'
import { type ClientTrust, readClientTrust } from '../tls/client-trust.js'
import type { BundleMistake } from '../tls/pem-bundle.js'

/** Read bundles by the hash of their text. */
export class ClientTrustShelf {
  #read = new Map<string, ClientTrust | BundleMistake>()

  /** What is wrong with the authorities of a site, at the place that names them. */
  errorsOf({ clientCertificate }: VhostConfig): readonly ConfigError[] {
    if (clientCertificate === undefined) return []
    const { path, place } = clientCertificate.ca
    const trust = this.#get(clientCertificate)
    return 'id' in trust ? [] : [{ ...place, message: `${path}: ${trust.message}`, hint: trust.hint }]
  }

  /** What a site demands. Only for sites without errors: a demand that is lost would open the site to everybody. */
  policyOf(demand: ClientCertificateConfig): ClientPolicy {
    const trust = this.#get(demand)
    if (!('id' in trust)) throw new Error(`a site with unreadable client authorities was compiled: ${trust.message}`)
    return clientPolicy(trust, demand.allow)
  }

  /** Forgets what none of these sites uses. */
  retain(vhosts: Iterable<VhostConfig>): void {
    if (this.#read.size === 0) return
    const kept = new Map<string, ClientTrust | BundleMistake>()
    for (const { clientCertificate } of vhosts) {
      const hash = clientCertificate?.ca.hash
      const known = hash === undefined ? undefined : this.#read.get(hash)
      if (hash !== undefined && known !== undefined) kept.set(hash, known)
    }
    this.#read = kept
  }

  #get({ ca }: ClientCertificateConfig): ClientTrust | BundleMistake {
    const trust = this.#read.get(ca.hash) ?? readClientTrust(ca.text)
    this.#read.set(ca.hash, trust)
    return trust
  }
}
