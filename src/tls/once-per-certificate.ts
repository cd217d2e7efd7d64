// Computes what follows from a certificate once, for as long as somebody holds it. Used for the authorities, which stand in
// thousands of files.
import type { X509Certificate } from 'node:crypto'
import type { ChainLink } from './pem-certificates.js'

/** `work` must be a pure function of the certificate, wherever it stands. */
export function oncePerCertificate<Value>(work: (link: ChainLink) => Value): (link: ChainLink) => Value {
  const known = new WeakMap<X509Certificate, { readonly value: Value }>()
  return (link) => {
    const found = known.get(link.x509)
    if (found !== undefined) return found.value
    const value = work(link)
    known.set(link.x509, { value })
    return value
  }
}
