// On what terms a handshake is made for each server name of a listener: versions, ciphers, and what its client is asked for.
// Used by the snapshot; the names are looked up in the map that requests are matched in, so that both mean the same site.
import type { ListenerConfig, VhostConfig } from '../config/config.js'
import type { CertificateRequest } from '../listener/handshake.js'
import type { ClientPolicy } from '../tls/client-policy.js'
import { type ContextTerms, contextTerms } from '../tls/context-options.js'

/** What a handshake is made on, beside the certificate. */
export interface HandshakePlan {
  readonly terms: ContextTerms
  /** Undefined asks the client for nothing. */
  readonly certificateRequest: CertificateRequest | undefined
}

/** For names that no site has, and for sites that ask for nothing of their own. */
export function listenerHandshake({ tlsSettings }: ListenerConfig): HandshakePlan {
  return { terms: contextTerms({ ...tlsSettings, clientTrust: undefined }), certificateRequest: undefined }
}

/** For a site's own names; `general` is the listener's. */
export function siteHandshake(
  { minVersion }: VhostConfig,
  policy: ClientPolicy | undefined,
  general: HandshakePlan,
): HandshakePlan {
  if (policy === undefined && minVersion === undefined) return general
  const terms = contextTerms({
    minVersion: minVersion ?? general.terms.minVersion,
    ciphers: general.terms.ciphers,
    clientTrust: policy?.trust,
  })
  return { terms, certificateRequest: policy && { policyId: policy.id, trustId: policy.trust.id } }
}
