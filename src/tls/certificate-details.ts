// What a certificate's DER says and node:crypto on Node 20 does not: what its key may do, how far it may sign, what it
// was signed with. Used by certificate-parse.ts; OpenSSL has parsed the bytes before, or an authority has signed them.
import { type DerElement, derChildren, derElements, derTag, fieldTag, objectIdentifier } from './der.js'

/** The facts, as plain values. */
export interface CertificateDetails {
  /** The serial number's bytes as they stand, a leading zero kept. */
  readonly serialBytes: Buffer
  /** The names as they stand, without their heads. */
  readonly issuerName: Buffer
  readonly subjectName: Buffer
  /** What stands in the SubjectPublicKeyInfo (RFC 5280 §4.1.2.7); empty where it is not found. */
  readonly publicKeyInfo: Buffer
  /** The signature algorithm where it rests on a broken hash, as people call it. */
  readonly weakSignature: string | undefined
  /** Basic constraints (RFC 5280 §4.2.1.9). */
  readonly isCa: boolean
  readonly pathLength: number | undefined
  /** Undefined where the extension is absent, which permits everything. */
  readonly keyUsage: { readonly digitalSignature: boolean; readonly certificateSigning: boolean } | undefined
  /** Purposes as object identifiers; undefined where the extension is absent. */
  readonly purposes: readonly string[] | undefined
  readonly policies: readonly string[]
  /** RFC 7633: the certificate demands a stapled OCSP response. */
  readonly mustStaple: boolean
  /** Whether there are subject alternative names, whatever they are. */
  readonly hasNames: boolean
  readonly subjectKeyId: Buffer | undefined
  readonly authorityKeyId: Buffer | undefined
}

/** Reads a certificate; what is absent or malformed is left out, never an error. */
export function readDetails(certificateDer: Buffer): CertificateDetails {
  const certificate = derChildren(derElements(certificateDer)[0])
  const [serial, , issuer, , subject, publicKeyInfo] = versionless(toBeSigned(certificateDer))
  const extensions = readExtensions(certificateDer)
  const [isCa, pathLength] = basicConstraints(extensions.get(extension.basicConstraints))
  return {
    serialBytes: serial?.content ?? Buffer.alloc(0),
    issuerName: issuer?.content ?? Buffer.alloc(0),
    subjectName: subject?.content ?? Buffer.alloc(0),
    publicKeyInfo: publicKeyInfo?.content ?? Buffer.alloc(0),
    weakSignature: weakSignature(certificate[1]),
    isCa,
    pathLength,
    keyUsage: keyUsage(extensions.get(extension.keyUsage)),
    purposes: identifiers(extensions.get(extension.extendedKeyUsage)),
    policies: derChildren(extensions.get(extension.policies)).flatMap((policy) => identifiers(policy) ?? []),
    mustStaple: derChildren(extensions.get(extension.tlsFeature)).some(isStatusRequest),
    hasNames: extensions.has(extension.subjectAltName),
    subjectKeyId: extensions.get(extension.subjectKeyId)?.content,
    authorityKeyId: derChildren(extensions.get(extension.authorityKeyId)).find(({ tag }) => tag === keyIdTag)?.content,
  }
}

/** The extensions by object identifier: Certificate → TBSCertificate → [3] → SEQUENCE. Of equal ones the first counts. */
export function readExtensions(certificateDer: Buffer): ReadonlyMap<string, DerElement> {
  const wrapper = toBeSigned(certificateDer).find(({ tag }) => tag === fieldTag.extensions)
  const found = new Map<string, DerElement>()
  for (const each of derChildren(derChildren(wrapper)[0])) {
    const fields = derChildren(each)
    const identifier = fields.find(({ tag }) => tag === derTag.objectIdentifier)
    const [value] = derElements(fields.find(({ tag }) => tag === derTag.octetString)?.content ?? Buffer.alloc(0))
    if (identifier === undefined || value === undefined) continue
    const name = objectIdentifier(identifier)
    if (!found.has(name)) found.set(name, value)
  }
  return found
}

/** Object identifiers of the extensions that are read. */
export const extension = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  policies: '2.5.29.32',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  tlsFeature: '1.3.6.1.5.5.7.1.24',
} as const

const keyIdTag = 0x80
const statusRequest = 5

function toBeSigned(certificateDer: Buffer): DerElement[] {
  return derChildren(derChildren(derElements(certificateDer)[0])[0])
}

/** Serial number, signature, issuer, validity, subject, SubjectPublicKeyInfo and what follows, whatever the version. */
function versionless(fields: readonly DerElement[]): readonly DerElement[] {
  return fields[0]?.tag === fieldTag.version ? fields.slice(1) : fields
}

function basicConstraints(value: DerElement | undefined): [isCa: boolean, pathLength: number | undefined] {
  const fields = derChildren(value)
  const isCa = (fields.find(({ tag }) => tag === derTag.boolean)?.content[0] ?? 0) !== 0
  const length = fields.find(({ tag }) => tag === derTag.integer)?.content
  return [isCa, length?.length === 1 ? length[0] : undefined]
}

// RFC 5280 §4.2.1.3: bit 0 is the highest bit of the first byte after the count of unused bits.
function keyUsage(value: DerElement | undefined): CertificateDetails['keyUsage'] {
  if (value?.tag !== derTag.bitString) return undefined
  const bits = value.content[1] ?? 0
  return { digitalSignature: (bits & 0x80) !== 0, certificateSigning: (bits & 0x04) !== 0 }
}

function identifiers(value: DerElement | undefined): string[] | undefined {
  if (value === undefined) return undefined
  return derChildren(value)
    .filter(({ tag }) => tag === derTag.objectIdentifier)
    .map(objectIdentifier)
}

function isStatusRequest({ tag, content }: DerElement): boolean {
  return tag === derTag.integer && content.length === 1 && content[0] === statusRequest
}

const weakSignatures: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.2': 'MD2 with RSA',
  '1.2.840.113549.1.1.3': 'MD4 with RSA',
  '1.2.840.113549.1.1.4': 'MD5 with RSA',
  '1.2.840.113549.1.1.5': 'SHA-1 with RSA',
  '1.2.840.10040.4.3': 'SHA-1 with DSA',
  '1.2.840.10045.4.1': 'SHA-1 with ECDSA',
  '1.3.14.3.2.15': 'SHA-1 with RSA',
  '1.3.14.3.2.27': 'SHA-1 with DSA',
  '1.3.14.3.2.29': 'SHA-1 with RSA',
}
const rsaPss = '1.2.840.113549.1.1.10'
const pssHashTag = 0xa0
const weakPssHashes: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'SHA-1 with RSA-PSS',
  '1.2.840.113549.2.5': 'MD5 with RSA-PSS',
}

function weakSignature(algorithm: DerElement | undefined): string | undefined {
  const [identifier, parameters] = derChildren(algorithm)
  if (identifier === undefined) return undefined
  const name = objectIdentifier(identifier)
  if (name !== rsaPss) return weakSignatures[name]
  const hash = derChildren(parameters).find(({ tag }) => tag === pssHashTag)
  const [hashName] = identifiers(derChildren(hash)[0]) ?? []
  // RFC 4055 §3.1: a hash that is left out is SHA-1.
  return weakPssHashes[hashName ?? '1.3.14.3.2.26']
}
