// The certificates that the other tests are made of.
import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { makeAuthority, makeCertificate } from '../support/certificates.js'

for (const keyType of ['ec', 'rsa', 'ed25519'] as const) {
  test(`a test certificate with an ${keyType} key is self-signed, fits its key and has its names`, async () => {
    const pair = await makeCertificate({ names: ['a.example', '*.b.example', '127.0.0.1', '::1'], keyType })
    const certificate = new X509Certificate(pair.cert)
    assert.equal(certificate.checkPrivateKey(createPrivateKey(pair.key)), true)
    assert.equal(certificate.verify(certificate.publicKey), true)
    assert.equal(certificate.publicKey.asymmetricKeyType, keyType)
    assert.equal(certificate.checkHost('x.b.example', { subject: 'never' }), '*.b.example')
    assert.equal(certificate.checkIP('::1'), '::1')
  })
}

test('a test chain is leaf, intermediate and leaves the root out', async () => {
  const root = await makeAuthority({ commonName: 'root', keyType: 'rsa' })
  const intermediate = await makeAuthority({ commonName: 'intermediate', issuer: root })
  const pair = await makeCertificate({ names: ['a.example'], commonName: 'leaf', issuer: intermediate })
  assert.equal(pair.chain, pair.cert + intermediate.cert)
  assert.equal(intermediate.root, root.cert)
  assert.equal(new X509Certificate(pair.cert).checkIssued(new X509Certificate(intermediate.cert)), true)
  assert.equal(new X509Certificate(intermediate.cert).verify(new X509Certificate(root.cert).publicKey), true)
})

test('a test certificate can have a key too weak to be used', async () => {
  const issuer = await makeAuthority()
  const pair = await makeCertificate({ names: ['a.example'], curve: 'prime192v1', issuer })
  assert.equal(new X509Certificate(pair.cert).publicKey.asymmetricKeyDetails?.namedCurve, 'prime192v1')
})
