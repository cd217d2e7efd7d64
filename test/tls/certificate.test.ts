// What a certificate serves in real handshakes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Certificate } from '../../src/tls/certificate.js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'
import { heapBytes } from '../support/heap.js'
import { proved } from './proved.js'
import { probe } from './tls-probe.js'

const names = ['site.example']

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  for (const keyType of ['ec', 'rsa', 'ed25519'] as const) {
    test(`a certificate with an ${keyType} key serves its whole chain over ${version}`, async () => {
      const root = await makeAuthority({ commonName: 'root' })
      const issuer = await makeAuthority({ commonName: 'intermediate', issuer: root })
      const certificate = await proved({ names, keyType, issuer })
      const result = await probe(certificate, { version, trusts: root.cert })
      assert.equal(result.fingerprint256, certificate.fingerprint256)
      assert.equal(result.protocol, version)
      assert.equal(result.verifyError, undefined)
    })
  }
}

test('TLS 1.1 and ciphers without forward secrecy are not spoken, the weakest of ours is', async () => {
  const certificate = await proved({ names, keyType: 'rsa' })
  await assert.rejects(probe(certificate, { version: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))
  await assert.rejects(probe(certificate, { version: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }))
  await assert.rejects(probe(certificate, { version: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-SHA' }))
  const result = await probe(certificate, { version: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' })
  assert.equal(result.cipher, 'ECDHE-RSA-AES128-GCM-SHA256')
})

test("the client's order of ciphers counts", async () => {
  const certificate = await proved({ names })
  const chacha = 'ECDHE-ECDSA-CHACHA20-POLY1305'
  const aes = 'ECDHE-ECDSA-AES128-GCM-SHA256'
  for (const ciphers of [`${chacha}:${aes}`, `${aes}:${chacha}`]) {
    const result = await probe(certificate, { version: 'TLSv1.2', ciphers })
    assert.equal(result.cipher, ciphers.split(':')[0])
  }
})

test('a context is built once and kept', async () => {
  const certificate = await proved({ names })
  const context = certificate.secureContext()
  assert.ok(context !== undefined)
  assert.equal(certificate.secureContext(), context)
  assert.equal(certificate.contextDefect, undefined)
})

test('a pair that the runtime refuses gives no context and says why, instead of throwing in a handshake', async () => {
  const [one, other] = [await proved({ names }), await makeCertificate({ names })]
  const unusable = new Certificate({ facts: one, keyPem: other.key })
  assert.equal(unusable.secureContext(), undefined)
  assert.equal(unusable.secureContext(), undefined)
  assert.equal(unusable.contextDefect?.code, 'cert_unusable')
  assert.match(unusable.contextDefect?.message ?? '', /key values mismatch/)
  await assert.rejects(probe(unusable, {}))
})

test('the private key does not show in what is logged or serialised', async () => {
  const certificate = await proved({ names })
  const shown = inspect(certificate, { depth: 9, showHidden: true }) + JSON.stringify(certificate)
  assert.ok(shown.includes('site.example'))
  assert.ok(!shown.includes('PRIVATE KEY'))
})

// Ten thousand sites of one authority would keep its text ten thousand times.
test('certificates over one authority keep its text once, however each came by it', async () => {
  const facts = await proved({ names })
  const authorityBytes = 50_000
  const overOne = (): Certificate => {
    const authority = Buffer.alloc(authorityBytes, 'authority').toString('latin1')
    return new Certificate({ facts: { ...facts, chain: [...facts.chain.slice(0, 1), authority] }, keyPem: '' })
  }
  const before = heapBytes()
  const certificates = Array.from({ length: 500 }, overOne)
  assert.ok(heapBytes() - before < 100 * authorityBytes)
  assert.ok(certificates.every(({ chain }) => chain[0] === facts.chain[0] && chain[1]?.length === authorityBytes))
})
