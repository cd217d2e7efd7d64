// Computes what follows from a certificate once, for as long as somebody holds it. Used for the authorities, which stand in
// thousands of files.
import type { X509Certificate } from 'node:crypto'

/** `work` must be a pure function of the certificate. */
export function oncePerCertificate<Value>(work: (x509: X509Certificate) => Value): (x509: X509Certificate) => Value {
  const known = new WeakMap<X509Certificate, { readonly value: Value }>()
  return (x509) => {
    const found = known.get(x509)
    if (found !== undefined) return found.value
    const value = work(x509)
    known.set(x509, { value })
    return value
  }
}
