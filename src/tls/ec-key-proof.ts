// Proves that a private key on a common curve belongs to a certificate by computing its public point: a thirtieth of what
// OpenSSL's decoder takes for the key, which for ten thousand sites is most of a start. Used by certificate-parse.ts.
import { createECDH, type ECDH } from 'node:crypto'
import { type DerElement, derChildren, derElements, derTag, objectIdentifier } from './der.js'
import type { KeyStrength } from './key-strength.js'

const ecPublicKey = '1.2.840.10045.2.1'

/** A curve whose keys are proved here. */
interface Curve {
  /** As OpenSSL calls it. */
  readonly name: string
  /** What stands in a SubjectPublicKeyInfo before the point: the algorithm, and the head of the bits (RFC 5480 §2). */
  readonly publicKeyHead: Buffer
}

const curves: Readonly<Record<string, Curve>> = {
  '1.2.840.10045.3.1.7': curve('prime256v1', '301306072a8648ce3d020106082a8648ce3d030107034200'),
  '1.3.132.0.34': curve('secp384r1', '301006072a8648ce3d020106052b81040022036200'),
}
const publicKeyTag = 0xa1
const parametersTag = 0xa0

/** What a proved key is good for. */
export const provedKeyStrength: KeyStrength = { verdict: 'strong', what: 'an EC key on a common curve' }

/**
 * Whether the key of a PEM block is proved to be that of a certificate with such a SubjectPublicKeyInfo (its content), byte
 * for byte; false says no more than that OpenSSL must be asked.
 */
export function isProvedEcKey(pem: string, publicKeyInfo: Buffer): boolean {
  const key = readEcKey(Buffer.from(pem.replace(/-----[^-]*-----/g, ''), 'base64'))
  if (key === undefined) return false
  try {
    const computing = computingOn(key.curve)
    computing.setPrivateKey(key.secret)
    const point = computing.getPublicKey()
    if (key.point !== undefined && !key.point.equals(point)) return false
    return Buffer.concat([key.curve.publicKeyHead, point]).equals(publicKeyInfo)
  } catch {
    // Not a number of the curve's group: OpenSSL has the words for it.
    return false
  }
}

/** Whether such a SubjectPublicKeyInfo (its content) is written as keys that are proved here are. */
export function isProvable(publicKeyInfo: Buffer): boolean {
  return Object.values(curves).some(({ publicKeyHead }) => {
    return publicKeyInfo.subarray(0, publicKeyHead.length).equals(publicKeyHead)
  })
}

interface EcKey {
  readonly curve: Curve
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

function ecPrivateKey(fields: readonly DerElement[], curve: Curve | undefined): EcKey | undefined {
  const [version, secret] = fields
  if (version?.tag !== derTag.integer || secret?.tag !== derTag.octetString || curve === undefined) return undefined
  const bits = inTag(fields, publicKeyTag)
  return { curve, secret: secret.content, point: bits === undefined ? undefined : bits.content.subarray(1) }
}

function namedCurve(element: DerElement | undefined): Curve | undefined {
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

function curve(name: string, publicKeyHead: string): Curve {
  return { name, publicKeyHead: Buffer.from(publicKeyHead, 'hex') }
}

const computings = new Map<string, ECDH>()

function computingOn({ name }: Curve): ECDH {
  const known = computings.get(name) ?? createECDH(name)
  computings.set(name, known)
  return known
}
