// The authorities of client certificates as things that end, with the sites whose clients are refused then. Used by the
// snapshot, for the watch over dates.
import { subjectOf } from '../tls/chain.js'
import type { DatedThing } from '../tls/expiry-watch.js'
import type { ClientTrustShelf } from './client-trusts.js'
import type { ServingSite } from './sites.js'

/** Each authority once, however many sites trust it; the file is that of the first. */
export function clientAuthorities(sites: readonly ServingSite[], trusts: ClientTrustShelf): readonly DatedThing[] {
  const things = new Map<string, DatedThing & { readonly vhosts: string[] }>()
  for (const { vhost } of sites) {
    if (vhost.clientCertificate === undefined) continue
    const { ca } = vhost.clientCertificate
    for (const link of trusts.policyOf(vhost.clientCertificate).trust.authorities) {
      const { fingerprint256, serialNumber: serial } = link.x509
      const known = things.get(fingerprint256)
      if (known !== undefined) known.vhosts.push(vhost.id)
      else {
        const { notBeforeMs, notAfterMs } = link
        const name = `${subjectOf(link)} (${serial})`
        things.set(fingerprint256, {
          kind: 'client_ca',
          name,
          file: ca.path,
          vhosts: [vhost.id],
          serial,
          fingerprint256,
          notBeforeMs,
          notAfterMs,
        })
      }
    }
  }
  return [...things.values()]
}
