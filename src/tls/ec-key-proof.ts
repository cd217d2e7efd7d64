// Proves that a private key on a common curve belongs to a certificate by computing its public point: a thirtieth of what
// OpenSSL's decoder takes for the key, which for ten thousand sites is most of a start. Used by certificate-parse.ts.
import { createECDH, type ECDH, type X509Certificate } from 'node:crypto'
import { type DerElement, derChildren, derElements, derTag, objectIdentifier } from './der.js'

const ecPublicKey = '1.2.840.10045.2.1'
const curves: Readonly<Record<string, string>> = { '1.2.840.10045.3.1.7': 'prime256v1', '1.3.132.0.34': 'secp384r1' }
const publicKeyTag = 0xa1
const parametersTag = 0xa0

/** Whether the key of a PEM block is proved to be the certificate's; false says no more than that OpenSSL must be asked. */
export function isProvedEcKey(pem: string, certificate: X509Certificate): boolean {
  const key = readEcKey(Buffer.from(pem.replace(/-----[^-]*-----/g, ''), 'base64'))
  if (key === undefined) return false
  try {
    const computing = computingOn(key.curve)
    computing.setPrivateKey(key.secret)
    const point = computing.getPublicKey()
    return (key.point === undefined || key.point.equals(point)) && pointOf(certificate)?.equals(point) === true
  } catch {
    // Not a number of the curve's group: OpenSSL has the words for it.
    return false
  }
}

interface EcKey {
  readonly curve: string
  readonly secret: Buffer
  /** Where the key says what it is. */
  readonly point: Buffer | undefined
}

/** PKCS #8 (RFC 5958) around an ECPrivateKey, or that alone (RFC 5915). */
function readEcKey(der: Buffer): EcKey | undefined {
  const fields = soleSequence(der)
  const [version, second, wrapped] = fields
  if (version?.tag !== derTag.integer) return undefined
  if (second?.tag === derTag.octetString) return ecPrivateKey(fields, namedCurve(inTag(fields, parametersTag)))
  const [algorithm, curve] = derChildren(second)
  if (algorithm === undefined || objectIdentifier(algorithm) !== ecPublicKey) return undefined
  if (wrapped?.tag !== derTag.octetString || fields.length !== 3) return undefined
  return ecPrivateKey(soleSequence(wrapped.content), namedCurve(curve))
}

function ecPrivateKey(fields: readonly DerElement[], curve: string | undefined): EcKey | undefined {
  const [version, secret] = fields
  if (version?.tag !== derTag.integer || secret?.tag !== derTag.octetString || curve === undefined) return undefined
  const bits = inTag(fields, publicKeyTag)
  return { curve, secret: secret.content, point: bits === undefined ? undefined : bits.content.subarray(1) }
}

function namedCurve(element: DerElement | undefined): string | undefined {
  return element?.tag === derTag.objectIdentifier ? curves[objectIdentifier(element)] : undefined
}

function inTag(fields: readonly DerElement[], tag: number): DerElement | undefined {
  return derChildren(fields.find((field) => field.tag === tag))[0]
}

/** The fields of a sequence that is all there is. */
function soleSequence(der: Buffer): readonly DerElement[] {
  const [sequence, ...rest] = derElements(der)
  return rest.length === 0 ? derChildren(sequence) : []
}

function pointOf({ publicKey }: X509Certificate): Buffer | undefined {
  if (publicKey.asymmetricKeyType !== 'ec') return undefined
  const [, bits] = soleSequence(publicKey.export({ type: 'spki', format: 'der' }))
  return bits?.content.subarray(1)
}

const computings = new Map<string, ECDH>()

function computingOn(curve: string): ECDH {
  const known = computings.get(curve) ?? createECDH(curve)
  computings.set(curve, known)
  return known
}
