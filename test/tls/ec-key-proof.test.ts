// The quick proof says yes to pairs alone; whatever it cannot read is OpenSSL's to judge.
import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { readDetails } from '../../src/tls/certificate-details.js'
import { isProvedEcKey } from '../../src/tls/ec-key-proof.js'
import { type CertificateOptions, makeAuthority, makeCertificate } from '../support/certificates.js'

/** A key, and what its certificate says of it. */
interface Pair {
  readonly key: string
  readonly publicKeyInfo: Buffer
}

async function pairOf(options: CertificateOptions = {}): Promise<Pair> {
  const { cert, key } = await makeCertificate({ names: ['site.example'], ...options })
  return { key, publicKeyInfo: readDetails(new X509Certificate(cert).raw).publicKeyInfo }
}

for (const curve of ['P-256', 'P-384']) {
  test(`a key on ${curve} is proved to belong to its certificate, in both formats, and to no other`, async () => {
    const issuer = await makeAuthority()
    const [own, other] = [await pairOf({ curve, issuer }), await pairOf({ curve, issuer })]
    const sec1 = createPrivateKey(own.key).export({ type: 'sec1', format: 'pem' }).toString()
    for (const key of [own.key, sec1]) {
      assert.equal(isProvedEcKey(key, own.publicKeyInfo), true)
      assert.equal(isProvedEcKey(key, other.publicKeyInfo), false)
    }
  })
}

test('a key whose private half is of another key is not proved', async () => {
  const [own, other] = [await pairOf(), await pairOf()]
  const [mine, theirs] = [own.key, other.key].map((pem) =>
    createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' }),
  )
  const secretOf = (der: Buffer): number => der.indexOf(Buffer.from([0x02, 0x01, 0x01, 0x04, 0x20])) + 5
  const mixed = Buffer.from(mine as Buffer)
  ;(theirs as Buffer).copy(mixed, secretOf(mixed), secretOf(theirs as Buffer), secretOf(theirs as Buffer) + 32)
  const pem = `-----BEGIN PRIVATE KEY-----\n${mixed.toString('base64')}\n-----END PRIVATE KEY-----\n`
  for (const { publicKeyInfo } of [own, other]) assert.equal(isProvedEcKey(pem, publicKeyInfo), false)
})

test('what is no EC key, or is cut off anywhere, is not proved and does not throw', async () => {
  const own = await pairOf()
  const rsa = await pairOf({ keyType: 'rsa' })
  assert.equal(isProvedEcKey(rsa.key, rsa.publicKeyInfo), false)
  const der = createPrivateKey(own.key).export({ type: 'pkcs8', format: 'der' })
  for (let end = 0; end < der.length; end++) {
    assert.equal(isProvedEcKey(der.subarray(0, end).toString('base64'), own.publicKeyInfo), false)
  }
})

// The reader of DER is generous, OpenSSL is not: what it has seen as another key must not be taken for this one.
test('a public key that is written in any other way than its own is not proved', async () => {
  const own = await pairOf()
  assert.equal(isProvedEcKey(own.key, own.publicKeyInfo), true)
  assert.equal(isProvedEcKey(own.key, Buffer.concat([own.publicKeyInfo, Buffer.from('0500', 'hex')])), false)
  assert.equal(isProvedEcKey(own.key, Buffer.alloc(0)), false)
  for (const index of own.publicKeyInfo.keys()) {
    const changed = Buffer.from(own.publicKeyInfo)
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
    assert.equal(isProvedEcKey(own.key, changed), false, `byte ${index}`)
  }
})
