// Makes certificates in memory for the tests, so that nothing that expires is ever committed.
// Used by every test that speaks TLS; never by the product.
import 'reflect-metadata'
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, generateKeyPair, webcrypto } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Extension } from '@peculiar/x509'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** What a key can be; `ec` is P-256 and `rsa` 2048 bits where nothing else is said. */
export type TestKeyType = 'ec' | 'rsa' | 'ed25519'

/** What a test may choose about a certificate; everything has a default that makes a valid one. */
export interface CertificateOptions {
  /** DNS names, wildcards and IP literals of the subject alternative name; none leaves the extension out. */
  readonly names?: readonly string[]
  /** The subject's common name; absent leaves the subject empty, as new public profiles do. */
  readonly commonName?: string
  readonly keyType?: TestKeyType
  readonly rsaBits?: number
  /** An OpenSSL curve name. Curves that web cryptography lacks need an `issuer`. */
  readonly curve?: string
  /** Default: an hour ago. */
  readonly notBefore?: Date
  /** Default: in 90 days, of an authority in ten years. */
  readonly notAfter?: Date
  /** Who signs; absent is self-signed. */
  readonly issuer?: TestAuthority
  /** The hash of the signature; SHA-256 where nothing else is said. */
  readonly hash?: 'SHA-1' | 'SHA-256'
  /** Basic constraints; an authority is one where nothing else is said, a server certificate is not. */
  readonly isAuthority?: boolean
  readonly pathLength?: number
  readonly keyUsages?: KeyUsageFlags
  /** Extended key usage of a server certificate, as object identifiers. */
  readonly purposes?: readonly string[]
  /** More extensions, whatever they are. */
  readonly extensions?: readonly Extension[]
}

/** One certificate with its private key, as PEM. */
export interface CertificatePair {
  /** The certificate alone. */
  readonly cert: string
  /** The private key, PKCS #8. */
  readonly key: string
  /** The certificate followed by its intermediates, leaf first, without the root: what a server sends. */
  readonly chain: string
}

/** A certificate authority, root or intermediate, that can be an `issuer`. */
export interface TestAuthority extends CertificatePair {
  /** The root's certificate: what a client trusts. */
  readonly root: string
  readonly subject: string
  readonly signingKey: webcrypto.CryptoKey
}

/**
 * Makes a server certificate; EC keys cost about a millisecond, RSA keys are taken in turn from two per size. `key` is
 * another one's to keep.
 */
export async function makeCertificate(
  options: CertificateOptions & { readonly key?: CertificatePair | undefined } = {},
): Promise<CertificatePair> {
  const keys = options.key === undefined ? await makeKeys(options) : keysOf(options.key)
  const signingKey = options.issuer?.signingKey ?? (await importSigningKey(keys.privateKey))
  const subject = options.commonName === undefined ? '' : `CN=${options.commonName}`
  const cert = await sign({
    subject,
    issuer: options.issuer?.subject ?? subject,
    keys,
    signingKey,
    options,
    extensions: serverExtensions(options),
  })
  return { cert, key: privatePem(keys), chain: cert + intermediatesOf(options.issuer) }
}

/** Makes a root, or with `issuer` an intermediate, that can sign other certificates; `key` is another one's to share. */
export async function makeAuthority(
  options: CertificateOptions & { readonly key?: TestAuthority } = {},
): Promise<TestAuthority> {
  const keys = options.key === undefined ? await makeKeys(options) : keysOf(options.key)
  const ownSigningKey = await importSigningKey(keys.privateKey)
  const subject = `CN=${options.commonName ?? 'test authority'}`
  const cert = await sign({
    subject,
    issuer: options.issuer?.subject ?? subject,
    keys,
    signingKey: options.issuer?.signingKey ?? ownSigningKey,
    options: { notAfter: new Date(Date.now() + 3_650 * 86_400_000), ...options },
    extensions: [
      new BasicConstraintsExtension(options.isAuthority ?? true, options.pathLength, true),
      new KeyUsagesExtension(options.keyUsages ?? KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ...(options.extensions ?? []),
    ],
  })
  return {
    cert,
    key: privatePem(keys),
    chain: cert + intermediatesOf(options.issuer),
    root: options.issuer?.root ?? cert,
    subject,
    signingKey: ownSigningKey,
  }
}

/** Writes `NAME.pem` (the chain) and `NAME.key` into `directory` and returns both paths. */
export function writePair(directory: string, name: string, pair: CertificatePair): { cert: string; key: string } {
  const files = { cert: join(directory, `${name}.pem`), key: join(directory, `${name}.key`) }
  writeFileSync(files.cert, pair.chain)
  writeFileSync(files.key, pair.key, { mode: 0o600 })
  return files
}

interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

const generate = promisify(generateKeyPair)
const rsaKeysPerSize = 2
const rsaKeys = new Map<number, { made: Promise<Keys>[]; next: number }>()

function makeKeys(options: CertificateOptions): Promise<Keys> {
  if (options.keyType === 'rsa') return nextRsaKeys(options.rsaBits ?? 2048)
  if (options.keyType === 'ed25519') return generate('ed25519', {})
  return generate('ec', { namedCurve: options.curve ?? 'P-256' })
}

function keysOf({ key }: CertificatePair): Keys {
  return { publicKey: createPublicKey(key), privateKey: createPrivateKey(key) }
}

// A 2048-bit key takes a tenth of a second. Two in turn are enough for every test that needs a key that does not fit.
function nextRsaKeys(bits: number): Promise<Keys> {
  const pool = rsaKeys.get(bits) ?? { made: [], next: 0 }
  rsaKeys.set(bits, pool)
  const turn = pool.next++ % rsaKeysPerSize
  pool.made[turn] ??= generate('rsa', { modulusLength: bits })
  return pool.made[turn]
}

function importSigningKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
  return webcrypto.subtle.importKey('pkcs8', pkcs8, signingAlgorithm(key), true, ['sign'])
}

function signingAlgorithm(key: KeyObject): webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams | 'Ed25519' {
  if (key.asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  if (key.asymmetricKeyType === 'ed25519') return 'Ed25519'
  return { name: 'ECDSA', namedCurve: webCurves[key.asymmetricKeyDetails?.namedCurve ?? ''] ?? 'P-256' }
}

const webCurves: Record<string, string> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' }

interface SigningRequest {
  readonly subject: string
  readonly issuer: string
  readonly keys: Keys
  readonly signingKey: webcrypto.CryptoKey
  readonly options: CertificateOptions
  readonly extensions: Extension[]
}

async function sign(request: SigningRequest): Promise<string> {
  const certificate = await X509CertificateGenerator.create({
    subject: request.subject,
    issuer: request.issuer,
    notBefore: request.options.notBefore ?? new Date(Date.now() - 3_600_000),
    notAfter: request.options.notAfter ?? new Date(Date.now() + 90 * 86_400_000),
    publicKey: request.keys.publicKey.export({ type: 'spki', format: 'der' }),
    signingKey: request.signingKey,
    signingAlgorithm: { name: request.signingKey.algorithm.name, hash: request.options.hash ?? 'SHA-256' },
    extensions: request.extensions,
  })
  return `${certificate.toString('pem')}\n`
}

function serverExtensions({ names = [], ...options }: CertificateOptions): Extension[] {
  const extensions: Extension[] = [
    new BasicConstraintsExtension(options.isAuthority ?? false, options.pathLength, true),
    new KeyUsagesExtension(options.keyUsages ?? KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment, true),
    new ExtendedKeyUsageExtension([
      ...(options.purposes ?? [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
    ]),
    ...(options.extensions ?? []),
  ]
  if (names.length > 0) extensions.push(new SubjectAlternativeNameExtension(names.map(generalName)))
  return extensions
}

function generalName(name: string): { type: 'ip' | 'dns'; value: string } {
  return { type: isIP(name) === 0 ? 'dns' : 'ip', value: name }
}

function privatePem(keys: Keys): string {
  return keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function intermediatesOf(issuer: TestAuthority | undefined): string {
  return issuer === undefined || issuer.cert === issuer.root ? '' : issuer.chain
}
