// Reads a certificate that an authority of its file has signed, without OpenSSL: on Node 20 that takes 160 µs to decode a key,
// which is compared byte for byte afterwards anyway; for ten thousand sites it is a third of a start. Used by pem-certificates.ts.
import { createHash, verify, X509Certificate } from 'node:crypto'
import { type CertificateDetails, readDetails } from './certificate-details.js'
import { extensionMarks } from './certificate-extensions.js'
import type { ChainLink } from './chain-link.js'
import { type DerElement, derTag, fieldTag, objectIdentifier, wholeChildren, wholeElements } from './der.js'
import { isProvable } from './ec-key-proof.js'

/**
 * The certificate of a PEM block, where one of these authorities has signed exactly its bytes. What it says is the
 * authority's word then. Undefined says no more than that OpenSSL must read it: whatever is unusual is left to it.
 */
export function readIssuedLeaf(pem: string, authorities: readonly ChainLink[]): ChainLink | undefined {
  const der = derOf(pem)
  const parts = der && partsOf(der)
  if (der === undefined || parts === undefined) return undefined
  const details = readDetails(der)
  const signer = authorities.find((authority) => isIssuer(authority, details) && hasSigned(authority, parts))
  const [serial, notBeforeMs, notAfterMs] = [serialText(details.serialBytes), ...parts.times.map(timeMs)]
  if (signer === undefined || serial === undefined || notBeforeMs === undefined || notAfterMs === undefined) return
  let x509: X509Certificate | undefined
  return {
    get x509() {
      x509 ??= new X509Certificate(der)
      return x509
    },
    der,
    signer: signer.details,
    issuer: signer.x509.subject,
    serial,
    fingerprint256: fingerprintText(der),
    details,
    notBeforeMs,
    notAfterMs,
  }
}

/** Decoding skips what is no Base64; a block that would be written otherwise is not taken. */
function derOf(pem: string): Buffer | undefined {
  const body = pem.replace(/-----[^-]*-----|\n/g, '')
  const der = Buffer.from(body, 'base64')
  return der.toString('base64') === body ? der : undefined
}

/** What of a Certificate its signature is over and by (RFC 5280 §4.1). */
interface SignedParts {
  readonly toBeSigned: Buffer
  readonly algorithm: SignatureAlgorithm
  readonly signature: Buffer
  /** From when until when. */
  readonly times: readonly DerElement[]
}

interface SignatureAlgorithm {
  readonly hash: string
  readonly keyType: string
}

const algorithms: Readonly<Record<string, SignatureAlgorithm>> = {
  '1.2.840.10045.4.3.2': { hash: 'sha256', keyType: 'ec' },
  '1.2.840.10045.4.3.3': { hash: 'sha384', keyType: 'ec' },
  '1.2.840.113549.1.1.11': { hash: 'sha256', keyType: 'rsa' },
  '1.2.840.113549.1.1.12': { hash: 'sha384', keyType: 'rsa' },
}

const { bitString, integer, sequence } = derTag
const certificateShape = [sequence, sequence, bitString]
const toBeSignedShape = [
  fieldTag.version,
  integer,
  sequence,
  sequence,
  sequence,
  sequence,
  sequence,
  fieldTag.extensions,
]
/** An INTEGER that is 2. */
const version3 = Buffer.from([integer, 1, 2])

/** Undefined where anything is written otherwise than nearly all authorities do. */
function partsOf(der: Buffer): SignedParts | undefined {
  const [certificate, ...others] = wholeElements(der) ?? []
  if (certificate?.tag !== sequence || others.length > 0) return undefined
  const [signed, outer, bits] = fieldsOf(certificate, certificateShape)
  const [version, , inner, , validity, subject, publicKeyInfo] = fieldsOf(signed, toBeSignedShape)
  if (signed === undefined || outer === undefined || publicKeyInfo === undefined) return
  const algorithm = algorithmOf(outer)
  const isSame = version?.content.equals(version3) === true && inner?.content.equals(outer.content) === true
  if (algorithm === undefined || !isSame || bits?.content[0] !== 0) return undefined
  const times = wholeChildren(validity) ?? []
  if (times.length !== 2 || !isPlainName(subject) || !isProvable(publicKeyInfo.content)) return undefined
  if (extensionMarks(der)?.every(({ identifier }) => identifier !== '') !== true) return undefined
  const headBytes = signed.content.byteOffset - certificate.content.byteOffset
  const toBeSigned = certificate.content.subarray(0, headBytes + signed.content.length)
  return { toBeSigned, algorithm, signature: bits.content.subarray(1), times }
}

/** The fields of a sequence that has exactly these. */
function fieldsOf(element: DerElement | undefined, tags: readonly number[]): readonly DerElement[] {
  const fields = wholeChildren(element) ?? []
  return fields.length === tags.length && fields.every(({ tag }, index) => tag === tags[index]) ? fields : []
}

/** RFC 5758 §3.2: no parameters for ECDSA; RFC 4055 §5: NULL for RSA. */
function algorithmOf(element: DerElement): SignatureAlgorithm | undefined {
  const [identifier, parameters, ...rest] = wholeChildren(element) ?? []
  const algorithm = identifier && algorithms[objectIdentifier(identifier)]
  const isAsItShould = algorithm?.keyType === 'rsa' ? isNull(parameters) : parameters === undefined
  return isAsItShould && rest.length === 0 ? algorithm : undefined
}

function isNull(element: DerElement | undefined): boolean {
  return element?.tag === derTag.null && element.content.length === 0
}

/** A name of printable ASCII, one attribute after the other (RFC 5280 §4.1.2.4). */
function isPlainName(name: DerElement | undefined): boolean {
  return wholeChildren(name)?.every((part) => part.tag === derTag.set && isPlainAttribute(part)) === true
}

function isPlainAttribute(part: DerElement): boolean {
  const [attribute, ...others] = wholeChildren(part) ?? []
  const [identifier, value, ...rest] = wholeChildren(attribute) ?? []
  if (others.length + rest.length > 0 || attribute?.tag !== sequence || identifier?.tag !== derTag.objectIdentifier)
    return false
  const isText = value?.tag === derTag.utf8String || value?.tag === derTag.printableString
  return isText && objectIdentifier(identifier) !== '' && /^[ -~]+$/.test(value.content.toString('latin1'))
}

function isIssuer({ details: { subjectName, subjectKeyId } }: ChainLink, leaf: CertificateDetails): boolean {
  // One that names itself is no leaf.
  if (subjectName.length === 0 || !subjectName.equals(leaf.issuerName) || subjectName.equals(leaf.subjectName))
    return false
  return subjectKeyId === undefined || (leaf.authorityKeyId?.equals(subjectKeyId) ?? true)
}

function hasSigned({ x509 }: ChainLink, { toBeSigned, algorithm, signature }: SignedParts): boolean {
  try {
    const key = x509.publicKey
    return key.asymmetricKeyType === algorithm.keyType && verify(algorithm.hash, toBeSigned, key, signature)
  } catch {
    return false
  }
}

/** As OpenSSL writes it. Negative ones and zero, which nobody may issue, are not taken. */
function serialText(bytes: Buffer): string | undefined {
  const [first = 0, second = 0] = bytes
  const isPadded = first === 0
  if (first >= 0x80 || (isPadded && second < 0x80)) return undefined
  return bytes
    .subarray(isPadded ? 1 : 0)
    .toString('hex')
    .toUpperCase()
}

function fingerprintText(der: Buffer): string {
  const digits = createHash('sha256').update(der).digest('hex').toUpperCase()
  return digits.replace(/..(?!$)/g, '$&:')
}

/** RFC 5280 §4.1.2.5, milliseconds since the epoch; undefined for every other way to write a time. */
function timeMs({ tag, content }: DerElement): number | undefined {
  const text = content.toString('latin1')
  const isShort = tag === derTag.utcTime && /^\d{12}Z$/.test(text)
  if (!isShort && !(tag === derTag.generalizedTime && /^\d{14}Z$/.test(text))) return undefined
  const digits = isShort ? `${text < '5' ? '20' : '19'}${text}` : text
  const at = (start: number): number => Number(digits.slice(start, start + 2))
  const [month, day, hour, minute, second] = [at(4), at(6), at(8), at(10), at(12)]
  const year = Number(digits.slice(0, 4))
  const time = Date.UTC(year, month - 1, day, hour, minute, second)
  const isReal = year >= 1000 && month >= 1 && month <= 12 && hour < 24 && minute < 60 && second < 60
  return isReal && new Date(time).getUTCDate() === day ? time : undefined
}
