// Shortest way from what a test wants to a Certificate. Used by the tests in this folder.
import assert from 'node:assert/strict'
import { Certificate } from '../../src/tls/certificate.js'
import { parsePair } from '../../src/tls/certificate-parse.js'
import type { CertificateOptions } from '../support/certificates.js'
import { makeCertificate } from '../support/certificates.js'

/** Makes a pair and proves it. */
export async function proved(options: CertificateOptions): Promise<Certificate> {
  const pair = await makeCertificate(options)
  const result = parsePair({
    certFile: 'site.pem',
    keyFile: 'site.key',
    certBytes: Buffer.from(pair.chain),
    keyBytes: Buffer.from(pair.key),
  })
  assert.ok(result.kind === 'proved', JSON.stringify(result))
  return new Certificate(result.pair)
}
