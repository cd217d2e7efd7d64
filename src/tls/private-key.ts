// Reads a private key and says whether it is strong enough to serve with. Used by certificate-parse.ts.
import type { KeyObject } from 'node:crypto'
import { createPrivateKey } from 'node:crypto'
import type { CertificateDefect, KeyType } from './certificate.js'
import { readPem } from './pem.js'

/** A private key that can serve. */
export interface ServerKey {
  readonly object: KeyObject
  readonly pem: string
  readonly type: KeyType
}

const rsaBitsMin = 2048
const ecBitsMin = 224

/** The first private key of a PEM file, or the defect that keeps it from use. */
export function readKey(file: string, bytes: Buffer): ServerKey | CertificateDefect {
  if (bytes.length === 0) {
    return { code: 'key_empty', file, message: 'the key file is empty', hint: 'is it still being written?' }
  }
  const { blocks, isTruncated } = readPem(bytes)
  if (isTruncated) {
    return {
      code: 'key_truncated',
      file,
      message: 'a PEM block begins and does not end',
      hint: 'is the file complete?',
    }
  }
  const block = blocks.find(({ label }) => label.endsWith('PRIVATE KEY'))
  if (block === undefined) {
    const hint = blocks.length > 0 ? 'are `cert` and `key` swapped?' : 'expected -----BEGIN PRIVATE KEY-----'
    return { code: 'key_not_pem', file, message: 'the file holds no PEM private key', hint }
  }
  if (block.label.startsWith('ENCRYPTED') || block.text.includes('ENCRYPTED\n')) return encrypted(file)
  try {
    return proveKey(file, createPrivateKey(block.text), block.text)
  } catch (error) {
    const message = `the private key cannot be parsed: ${(error as Error).message}`
    return { code: 'key_invalid', file, message, hint: 'look at it with: openssl pkey -noout -text -in FILE' }
  }
}

function encrypted(file: string): CertificateDefect {
  return {
    code: 'key_encrypted',
    file,
    message: 'the private key is encrypted with a passphrase',
    hint: 'write it without one (openssl pkey -in FILE -out NEW) and guard the file by its mode instead',
  }
}

// Runtimes differ: some load a weak key and serve it, some throw, some load it and fail every handshake.
function proveKey(file: string, object: KeyObject, pem: string): ServerKey | CertificateDefect {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = object
  if (type === 'ed25519') return { object, pem, type }
  if (type === 'rsa') {
    const bits = details?.modulusLength ?? 0
    return bits >= rsaBitsMin ? { object, pem, type } : weak(file, `RSA key of ${bits} bits`)
  }
  const curve = details?.namedCurve ?? ''
  // Curves are named after their size: prime256v1, secp384r1, brainpoolP256r1.
  const bits = Number(/\d{3}/.exec(curve)?.[0] ?? 0)
  if (type === 'ec' && bits > 0) return bits >= ecBitsMin ? { object, pem, type } : weak(file, `EC key on ${curve}`)
  return {
    code: 'key_unsupported',
    file,
    message: `keys of type ${type}${curve === '' ? '' : ` on ${curve}`} are not used in TLS`,
    hint: 'use EC on P-256, or RSA of 2048 bits or more',
  }
}

function weak(file: string, what: string): CertificateDefect {
  return {
    code: 'key_weak',
    file,
    message: `${what}: too weak for TLS`,
    hint: `use EC on P-256, or RSA of ${rsaBitsMin} bits or more`,
  }
}
