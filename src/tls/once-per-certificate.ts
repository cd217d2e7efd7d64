// Computes what follows from a certificate once, for as long as somebody holds it. Used for the authorities, which stand in
// thousands of files.
import type { CertificateDetails } from './certificate-details.js'
import type { ChainLink } from './chain-link.js'

/** `work` must be a pure function of the certificate, wherever it stands. */
export function oncePerCertificate<Value>(work: (link: ChainLink) => Value): (link: ChainLink) => Value {
  const known = new WeakMap<CertificateDetails, { readonly value: Value }>()
  return (link) => {
    const found = known.get(link.details)
    if (found !== undefined) return found.value
    const value = work(link)
    known.set(link.details, { value })
    return value
  }
}
