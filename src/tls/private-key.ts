// Reads a private key and says whether it can serve. Used by certificate-parse.ts.
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, sign, verify, X509Certificate } from 'node:crypto'
import type { KeyType } from './certificate.js'
import { type CertificateDefect, defect } from './defects.js'
import { isProvedEcKey, provedKeyStrength } from './ec-key-proof.js'
import { type KeyStrength, keyStrength } from './key-strength.js'
import { readPem } from './pem.js'

/** A private key that can serve. */
export interface ServerKey {
  /** Undefined where it is proved already that it is the certificate's. */
  readonly object: KeyObject | undefined
  readonly pem: string
  readonly type: KeyType
  readonly strength: KeyStrength
}

/**
 * The first private key of a PEM file, or the defect that keeps it from use; `publicKeyInfo` is the content of the
 * SubjectPublicKeyInfo that it should belong to.
 */
export function readKey(file: string, bytes: Buffer, publicKeyInfo?: Buffer): ServerKey | CertificateDefect {
  if (bytes.length === 0) return defect('key_empty', { file })
  const { blocks, isTruncated } = readPem(bytes)
  if (isTruncated) return defect('key_truncated', { file })
  const block = blocks.find(({ label }) => label.endsWith('PRIVATE KEY'))
  if (block === undefined) return defect('key_not_pem', { file })
  if (block.label.startsWith('ENCRYPTED') || block.text.includes('ENCRYPTED\n'))
    return defect('key_encrypted', { file })
  if (publicKeyInfo !== undefined && isProvedEcKey(block.text, publicKeyInfo)) {
    return { object: undefined, pem: block.text, type: 'ec', strength: provedKeyStrength }
  }
  try {
    return proveKey(file, createPrivateKey(block.text), block.text)
  } catch (error) {
    return defect('key_invalid', { file, message: `the private key cannot be parsed: ${(error as Error).message}` })
  }
}

const sample = Buffer.from('hostward')

/**
 * Whether the key really signs for the certificate. OpenSSL compares public halves alone, and a key that was overwritten in
 * place half-way has the private half of one key and the public half of another: every handshake with it fails.
 */
export function signsFor(keyPem: string, certificatePem: string): boolean {
  try {
    const key = createPrivateKey(keyPem)
    const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
    return verify(hash, sample, new X509Certificate(certificatePem).publicKey, sign(hash, sample, key))
  } catch {
    // OpenSSL notices some halves itself.
    return false
  }
}

function proveKey(file: string, object: KeyObject, pem: string): ServerKey | CertificateDefect {
  const strength = keyStrength(object)
  const { verdict, what } = strength
  if (verdict === 'weak') return defect('key_weak', { file, message: `${what}: too weak for TLS` })
  const type = object.asymmetricKeyType
  if (verdict !== 'unsupported' && (type === 'rsa' || type === 'ec' || type === 'ed25519')) {
    return { object, pem, type, strength }
  }
  return defect('key_unsupported', { file, message: `${what} is not used in TLS` })
}
