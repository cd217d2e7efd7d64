// Whether a key is strong enough for TLS, by our own measure: runtimes differ, some load a weak key and serve it, some
// throw, some load it and fail every handshake. Pure; used for the private key and for the keys of a chain.
import type { KeyObject } from 'node:crypto'

const rsaBitsMin = 2048
const ecBitsMin = 224
/** What browsers and CDNs accept; the rest of the curves is known to few. */
const commonCurves: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1'])

/** What a key is good for; `what` names it for people. */
export interface KeyStrength {
  readonly verdict: 'strong' | 'uncommon' | 'weak' | 'unsupported'
  readonly what: string
}

/** Judges a private or public key. */
export function keyStrength({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): KeyStrength {
  if (type === 'ed25519') return { verdict: 'uncommon', what: 'an Ed25519 key' }
  if (type === 'rsa') {
    const bits = details?.modulusLength ?? 0
    return { verdict: bits >= rsaBitsMin ? 'strong' : 'weak', what: `an RSA key of ${bits} bits` }
  }
  const curve = details?.namedCurve ?? ''
  // Curves are named after their size: prime256v1, secp384r1, brainpoolP256r1.
  const bits = Number(/\d{3}/.exec(curve)?.[0] ?? 0)
  if (type !== 'ec' || bits === 0) {
    return { verdict: 'unsupported', what: `a key of type ${type}${curve === '' ? '' : ` on ${curve}`}` }
  }
  const what = `an EC key on ${curve}`
  if (bits < ecBitsMin) return { verdict: 'weak', what }
  return { verdict: commonCurves.has(curve) ? 'strong' : 'uncommon', what }
}
