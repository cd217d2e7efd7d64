// Certificates by the thousand: one is made by the library, the others are it with another name, key and signature.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto'
import { makeAuthority, makeCertificate } from '../../test/support/certificates.js'

/** A pair as PEM. */
export interface IssuedPair {
  readonly certificate: string
  readonly key: string
}

/** Issues P-256 certificates for names of one length. */
export class Issuer {
  readonly #template: Buffer
  readonly #templateName: string
  readonly #templateKey: Buffer
  readonly #authorityKey: KeyObject
  readonly #authority: string

  private constructor(parts: {
    template: Buffer
    name: string
    key: Buffer
    authorityKey: KeyObject
    authority: string
  }) {
    this.#template = parts.template
    this.#templateName = parts.name
    this.#templateKey = parts.key
    this.#authorityKey = parts.authorityKey
    this.#authority = parts.authority
  }

  /** `name` stands for all names that it can issue for: as long as this one. */
  static async like(name: string): Promise<Issuer> {
    const authority = await makeAuthority({ commonName: 'bench authority' })
    const { cert } = await makeCertificate({ names: [name], issuer: authority })
    const x509 = new X509Certificate(cert)
    return new Issuer({
      template: toBeSigned(x509.raw),
      name,
      key: x509.publicKey.export({ type: 'spki', format: 'der' }),
      authorityKey: createPrivateKey(authority.key),
      authority: authority.cert,
    })
  }

  /** A certificate with its authority, which is all the chain there is. */
  issue(name: string): IssuedPair {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const body = Buffer.from(this.#template)
    replace(body, Buffer.from(this.#templateName), Buffer.from(name))
    replace(
      body,
      this.#templateKey,
      createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })).export({ type: 'spki', format: 'der' }),
    )
    const signature = sign('sha256', body, this.#authorityKey)
    const bits = element(0x03, Buffer.concat([Buffer.from([0]), signature]))
    const certificate = element(0x30, Buffer.concat([body, ecdsaWithSha256, bits]))
    return {
      certificate: pem(certificate) + this.#authority,
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }
  }
}

/** AlgorithmIdentifier of ecdsa-with-SHA256 (RFC 5758 §3.2). */
const ecdsaWithSha256 = Buffer.from('300a06082a8648ce3d040302', 'hex')

function toBeSigned(certificate: Buffer): Buffer {
  const start = headBytes(certificate, 0)
  return certificate.subarray(start, start + headBytes(certificate, start) + contentBytes(certificate, start))
}

function headBytes(der: Buffer, at: number): number {
  const first = der.readUInt8(at + 1)
  return first < 0x80 ? 2 : 2 + (first & 0x7f)
}

function contentBytes(der: Buffer, at: number): number {
  const first = der.readUInt8(at + 1)
  return first < 0x80 ? first : der.readUIntBE(at + 2, first & 0x7f)
}

function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}

function replace(bytes: Buffer, before: Buffer, after: Buffer): void {
  const at = bytes.indexOf(before)
  if (at === -1 || before.length !== after.length) throw new Error('the template has another shape')
  after.copy(bytes, at)
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
