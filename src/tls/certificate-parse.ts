// Proves a pair of files and makes a Certificate of it. Used by certificate-source.ts.
// Every rule is checked here, because createSecureContext accepts a missing certificate, an empty key and a key of
// another type without a word.
import { X509Certificate } from 'node:crypto'
import type { CertificateDefect, CertificateFacts } from './certificate.js'
import { Certificate } from './certificate.js'
import { chainWarnings } from './chain.js'
import { readPem } from './pem.js'
import type { ServerKey } from './private-key.js'
import { readKey } from './private-key.js'
import { readSubjectNames } from './subject-names.js'

/** A pair as read, with the names that people know the files by. */
export interface PairBytes {
  readonly certFile: string
  readonly keyFile: string
  readonly certBytes: Buffer
  readonly keyBytes: Buffer
}

/** The proved pair, or everything that keeps it from being served. Dates never do. */
export function parseCertificate(pair: PairBytes): Certificate | readonly CertificateDefect[] {
  const blocks = readBlocks(pair)
  const key = readKey(pair.keyFile, pair.keyBytes)
  if ('code' in blocks) return 'code' in key ? [blocks, key] : [blocks]
  if ('code' in key) return [key]
  const mismatch = keyMismatch(pair, blocks, key)
  if (mismatch !== undefined) return [mismatch]
  return new Certificate(
    {
      certFile: pair.certFile,
      keyFile: pair.keyFile,
      ...leafFacts(blocks[0]),
      keyType: key.type,
      chain: blocks.map((block) => block.toString()),
      warnings: chainWarnings(pair.certFile, blocks),
    },
    key.pem,
  )
}

function readBlocks(pair: PairBytes): readonly X509Certificate[] | CertificateDefect {
  const file = pair.certFile
  if (pair.certBytes.length === 0) {
    return { code: 'cert_empty', file, message: 'the certificate file is empty', hint: 'is it still being written?' }
  }
  const { blocks, isTruncated } = readPem(pair.certBytes)
  if (isTruncated) {
    return {
      code: 'cert_truncated',
      file,
      message: 'a PEM block begins and does not end',
      hint: 'is the file complete? every -----BEGIN …----- needs its -----END …----- on a line of its own',
    }
  }
  const certificates = blocks.filter(({ label }) => label === 'CERTIFICATE')
  if (certificates.length > 0)
    return parseBlocks(
      file,
      certificates.map(({ text }) => text),
    )
  const hasKey = blocks.some(({ label }) => label.endsWith('PRIVATE KEY'))
  return {
    code: 'cert_not_pem',
    file,
    message: hasKey ? 'the file holds a private key and no certificate' : 'the file holds no PEM certificate',
    hint: hasKey ? 'are `cert` and `key` swapped?' : 'expected -----BEGIN CERTIFICATE-----, leaf first',
  }
}

function parseBlocks(file: string, texts: readonly string[]): readonly X509Certificate[] | CertificateDefect {
  const parsed: X509Certificate[] = []
  for (const [index, text] of texts.entries()) {
    try {
      const certificate = new X509Certificate(text)
      if (Number.isNaN(Date.parse(certificate.validTo))) throw new Error('its dates cannot be read')
      parsed.push(certificate)
    } catch (error) {
      return {
        code: 'cert_invalid',
        file,
        message: `certificate ${index + 1} of ${texts.length} cannot be parsed: ${(error as Error).message}`,
        hint: 'look at it with: openssl x509 -text -noout -in FILE',
      }
    }
  }
  return parsed
}

function keyMismatch(
  pair: PairBytes,
  blocks: readonly X509Certificate[],
  key: ServerKey,
): CertificateDefect | undefined {
  if (blocks[0].checkPrivateKey(key.object)) return undefined
  const position = blocks.findIndex((block) => block.checkPrivateKey(key.object))
  if (position > 0) {
    return {
      code: 'leaf_not_first',
      file: pair.certFile,
      message: `the key belongs to certificate ${position + 1} of ${blocks.length} in the file, not to the first`,
      hint: "put the site's own certificate first, then its intermediates",
    }
  }
  return {
    code: 'key_mismatch',
    file: pair.keyFile,
    message: `the private key does not belong to the certificate in ${pair.certFile}`,
    hint: 'if both are being renewed, the other file is still to come',
  }
}

type LeafFacts = Pick<CertificateFacts, 'names' | 'notBeforeMs' | 'notAfterMs' | 'serial' | 'fingerprint256' | 'issuer'>

function leafFacts(leaf: X509Certificate): LeafFacts {
  return {
    names: readSubjectNames(leaf.raw),
    notBeforeMs: Date.parse(leaf.validFrom),
    notAfterMs: Date.parse(leaf.validTo),
    serial: leaf.serialNumber,
    fingerprint256: leaf.fingerprint256,
    // Node gives undefined for an empty name, whatever its types say.
    issuer: (leaf.issuer as string | undefined)?.replaceAll('\n', ', ') ?? '',
  }
}
