// What is accepted as a pair of certificate and key, what is refused, and what is warned of.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { before, test } from 'node:test'
import { AuthorityKeyIdentifierExtension, SubjectKeyIdentifierExtension } from '@peculiar/x509'
import fc from 'fast-check'
import { Certificate } from '../../src/tls/certificate.js'
import { type ParsedPair, parsePair } from '../../src/tls/certificate-parse.js'
import { defectRules } from '../../src/tls/defects.js'
import type { CertificateOptions, CertificatePair, TestAuthority } from '../support/certificates.js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'

let root: TestAuthority
let intermediate: TestAuthority
let site: CertificatePair

before(async () => {
  root = await makeAuthority({ commonName: 'root' })
  intermediate = await makeAuthority({ commonName: 'intermediate', issuer: root })
  site = await makeCertificate({ names: ['site.example'], commonName: 'site', issuer: intermediate })
})

function parse(cert: string, key: string): ParsedPair {
  const [certBytes, keyBytes] = [Buffer.from(cert, 'latin1'), Buffer.from(key, 'latin1')]
  return parsePair({ certFile: 'site.pem', keyFile: 'site.key', certBytes, keyBytes })
}

function accepted(cert: string, key: string): Certificate {
  const result = parse(cert, key)
  assert.ok(result.kind === 'proved', JSON.stringify(result))
  return new Certificate(result.pair)
}

function refused(cert: string, key: string): string[] {
  const result = parse(cert, key)
  assert.ok(result.kind === 'refused', 'the pair was accepted')
  for (const { code, act, message, hint } of result.defects) {
    assert.ok(message !== '' && hint !== '')
    assert.equal(act, 'refuse')
    assert.equal(defectRules[code].act, act)
  }
  return result.defects.map(({ code, file }) => `${file} ${code}`)
}

async function made(options: CertificateOptions): Promise<Certificate> {
  const pair = await makeCertificate(options)
  return accepted(pair.chain, pair.key)
}

test('a pair is parsed with its names, dates, numbers, issuer, key type and chain', () => {
  const certificate = accepted(site.chain, site.key)
  assert.deepEqual(certificate.names, ['site.example'])
  assert.equal(certificate.keyType, 'ec')
  assert.equal(certificate.issuer, 'CN=intermediate')
  assert.match(certificate.fingerprint256, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
  assert.match(certificate.serial, /^[0-9A-F]+$/)
  assert.equal(certificate.chain.length, 2)
  assert.equal(certificate.chain.join(''), site.chain)
  assert.deepEqual(certificate.warnings, [])
})

test('dates are read to the second, beyond 2049 too', async () => {
  const notBefore = new Date('2026-02-03T04:05:06Z')
  const notAfter = new Date('2061-12-01T00:00:09Z')
  const certificate = await made({ names: ['a.example'], notBefore, notAfter })
  assert.equal(certificate.notBeforeMs, notBefore.getTime())
  assert.equal(certificate.notAfterMs, notAfter.getTime())
})

test('names are those of the subject alternative name, in one spelling, and never the common name', async () => {
  const names = ['Upper.Example', '*.wild.example', '192.0.2.7', '2001:db8:0:0:0:0:0:1']
  const certificate = await made({ names, commonName: 'cn.example' })
  assert.deepEqual(certificate.names, ['upper.example', '*.wild.example', '192.0.2.7', '2001:db8::1'])
  assert.equal(certificate.covers('cn.example'), false)
})

test('a name is read as it is where its text looks like two', async () => {
  const certificate = await made({ names: ['a.example, DNS:evil.example'] })
  assert.deepEqual(certificate.names, ['a.example, dns:evil.example'])
  assert.equal(certificate.covers('evil.example'), false)
})

test('a hundred names, long enough for a length of two bytes, are all read', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `site-${index}.a-rather-long-domain.example`)
  assert.deepEqual((await made({ names })).names, names)
})

const coverage: readonly (readonly [string, boolean])[] = [
  ['a.example', true],
  ['b.example', false],
  ['x.a.example', false],
  ['one.wild.example', true],
  ['wild.example', false],
  ['two.one.wild.example', false],
  ['*.wild.example', true],
  ['*.a.example', false],
  ['.wild.example', false],
  ['192.0.2.7', true],
  ['192.0.2.8', false],
  ['2001:db8::1', true],
  ['2001:0db8:0::0:1', true],
  ['2001:db8::2', false],
]
test('a certificate covers exact names, one label under a wildcard, and addresses in any spelling', async () => {
  const certificate = await made({ names: ['a.example', '*.wild.example', '192.0.2.7', '2001:db8::1'] })
  for (const [hostname, expected] of coverage) assert.equal(certificate.covers(hostname), expected, hostname)
})

test('line ends of Windows, a byte order mark and text around the blocks do no harm', () => {
  const cert = `\xef\xbb\xbf${site.chain}`.replaceAll('\n', '\r\n')
  const key = `Bag Attributes\n    friendlyName: site\n${site.key}\ntrailing words`
  assert.equal(accepted(cert, key).chain.length, 2)
})

test('certificate and key may stand in one file', () => {
  const both = site.key + site.chain
  assert.equal(accepted(both, both).chain.length, 2)
})

test('a file that is empty, of another kind, or cut off is refused by what it lacks', () => {
  assert.deepEqual(refused('', site.key), ['site.pem cert_empty'])
  assert.deepEqual(refused('hello', site.key), ['site.pem cert_not_pem'])
  assert.deepEqual(refused(site.chain.slice(0, -2), site.key), ['site.pem cert_truncated'])
  assert.deepEqual(refused(site.cert.slice(0, 200), site.key), ['site.pem cert_truncated'])
  assert.deepEqual(refused(site.chain, ''), ['site.key key_empty'])
  assert.deepEqual(refused(site.chain, 'hello'), ['site.key key_not_pem'])
  assert.deepEqual(refused(site.chain, site.key.slice(0, 100)), ['site.key key_truncated'])
  assert.deepEqual(refused('', ''), ['site.pem cert_empty', 'site.key key_empty'])
})

test('a file cut off between two blocks of one line is not served without its rest', () => {
  const glued = site.cert.trimEnd() + intermediate.cert
  assert.deepEqual(refused(glued, site.key), ['site.pem cert_truncated'])
  assert.deepEqual(refused(site.cert.slice(0, 200) + intermediate.cert, site.key), ['site.pem cert_truncated'])
})

test('blocks that hold rubbish are refused wherever they stand', () => {
  const rubbish = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  assert.deepEqual(refused(rubbish, site.key), ['site.pem cert_invalid'])
  assert.deepEqual(refused(site.cert + rubbish + intermediate.cert, site.key), ['site.pem cert_invalid'])
  const badKey = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'
  assert.deepEqual(refused(site.chain, badKey), ['site.key key_invalid'])
})

test('swapped files are refused with a hint that they are swapped', () => {
  assert.deepEqual(refused(site.key, site.cert), ['site.pem cert_not_pem', 'site.key key_not_pem'])
  const result = parse(site.key, site.cert)
  assert.ok(result.kind === 'refused' && result.defects.every(({ hint }) => hint.includes('swapped')))
})

test('an encrypted key is refused, in the form of today and of yesterday', () => {
  const key = createPrivateKey(site.key)
  const secret = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' } as const
  assert.deepEqual(refused(site.chain, key.export({ ...secret, type: 'pkcs8' }).toString()), ['site.key key_encrypted'])
  assert.deepEqual(refused(site.chain, key.export({ ...secret, type: 'sec1' }).toString()), ['site.key key_encrypted'])
  accepted(site.chain, key.export({ format: 'pem', type: 'sec1' }).toString())
})

test('a key of another certificate is refused, of the same type and of another', async () => {
  for (const keyType of ['ec', 'rsa', 'ed25519'] as const) {
    const other = await makeCertificate({ keyType })
    assert.deepEqual(refused(site.chain, other.key), ['site.key key_mismatch'])
    assert.deepEqual(refused(other.chain, site.key), ['site.key key_mismatch'])
  }
})

test('an intermediate before the leaf is refused as a wrong order, not as a wrong key', () => {
  assert.deepEqual(refused(intermediate.cert + site.cert, site.key), ['site.pem leaf_not_first'])
})

// One certificate written over another in place is read half-way: dates and names of the new one, the signature of the old.
test('a certificate that its own issuer in the file has not signed is refused, another issuer of that name is not', async () => {
  const named = (id: string) => makeAuthority({ issuer: root, extensions: [new SubjectKeyIdentifierExtension(id)] })
  const [issuer, namesake] = [await named('0102'), await named('0304')]
  const leaf = await makeCertificate({ issuer, extensions: [new AuthorityKeyIdentifierExtension('0102')] })
  const der = new X509Certificate(leaf.cert).raw
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1)
  const torn = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
  accepted(leaf.chain, leaf.key)
  assert.deepEqual(refused(torn + issuer.cert, leaf.key), ['site.pem signature_invalid'])
  const { warnings } = accepted(torn + namesake.cert, leaf.key)
  assert.deepEqual(
    warnings.map(({ code }) => code).filter((code) => code.startsWith('chain')),
    ['chain_incomplete', 'chain_unrelated'],
  )
})

// Authorities are remembered, because thousands of leaves stand over one; what merely has its names is another.
test('a leaf is verified by the authority of its own file, whatever authority of that name and key identifier came before', async () => {
  const named = () => makeAuthority({ issuer: root, extensions: [new SubjectKeyIdentifierExtension('0102')] })
  const [issuer, impostor] = [await named(), await named()]
  const leafOf = (authority: TestAuthority) =>
    makeCertificate({ issuer: authority, extensions: [new AuthorityKeyIdentifierExtension('0102')] })
  const [own, other] = [await leafOf(issuer), await leafOf(impostor)]
  for (let turn = 0; turn < 3; turn += 1) {
    accepted(own.cert + issuer.cert, own.key)
    assert.deepEqual(refused(own.cert + impostor.cert, own.key), ['site.pem signature_invalid'])
    assert.deepEqual(refused(other.cert + issuer.cert, other.key), ['site.pem signature_invalid'])
    accepted(other.cert + impostor.cert, other.key)
  }
})

test('every leaf over a remembered authority is verified: after a hundred good ones a corrupt one is refused', async () => {
  const issuer = await makeAuthority({ issuer: root, extensions: [new SubjectKeyIdentifierExtension('0506')] })
  const leaf = await makeCertificate({ issuer, extensions: [new AuthorityKeyIdentifierExtension('0506')] })
  for (let turn = 0; turn < 100; turn += 1) accepted(leaf.cert + issuer.cert, leaf.key)
  const der = new X509Certificate(leaf.cert).raw
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1)
  const corrupt = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
  assert.deepEqual(refused(corrupt + issuer.cert, leaf.key), ['site.pem signature_invalid'])
  accepted(leaf.cert + issuer.cert, leaf.key)
})

test('a renewed authority with the name and the key of the one before is told with its own dates', async () => {
  const [first, second] = [new Date(4e12), new Date(4.1e12)]
  const old = await makeAuthority({ commonName: 'renewed', issuer: root, notAfter: first })
  const next = await makeAuthority({ commonName: 'renewed', issuer: root, notAfter: second, key: old })
  const leaf = await makeCertificate({ issuer: old })
  const endOver = (authority: TestAuthority): number | undefined =>
    accepted(leaf.cert + authority.cert, leaf.key).intermediates[0]?.notAfterMs
  for (let turn = 0; turn < 2; turn += 1) {
    assert.equal(endOver(old), first.getTime())
    assert.equal(endOver(next), second.getTime())
  }
})

test('a weak authority is refused below each of its leaves, and a copy of it in one file is told as such', async () => {
  const weak = await makeAuthority({ commonName: 'weak', issuer: root, keyType: 'rsa', rsaBits: 1024 })
  for (let turn = 0; turn < 3; turn += 1) {
    const leaf = await makeCertificate({ issuer: weak })
    assert.deepEqual(refused(leaf.cert + weak.cert, leaf.key), ['site.pem key_weak'])
    const codes = accepted(site.chain + intermediate.cert, site.key).warnings.map(({ code }) => code)
    assert.ok(codes.includes('chain_duplicate'), codes.join())
  }
})

test('more authorities than are remembered are told apart all the same', async () => {
  const key = await makeAuthority({ commonName: 'shared key' })
  const authorities = await Promise.all(
    Array.from({ length: 300 }, (_, index) => makeAuthority({ commonName: `authority ${index}`, issuer: root, key })),
  )
  for (const turn of [1, 2]) {
    const strangers = authorities.filter((authority) => {
      const { warnings } = accepted(site.chain + authority.cert, site.key)
      const [found] = warnings.filter(({ code }) => code === 'chain_unrelated')
      return found?.message.includes(`(${authority.subject})`) === true
    })
    assert.equal(strangers.length, authorities.length, `turn ${turn}`)
  }
})

test('an RSA key of 2048 bits is accepted, of 2047 refused as weak', async () => {
  assert.equal((await made({ keyType: 'rsa', names: ['a.example'] })).keyType, 'rsa')
  const weak = await makeCertificate({ keyType: 'rsa', rsaBits: 2047 })
  assert.deepEqual(refused(weak.chain, weak.key), ['site.key key_weak'])
})

test('an EC key of 224 bits is accepted, of 192 refused as weak', async () => {
  assert.equal((await made({ curve: 'secp224r1', issuer: root, names: ['a.example'] })).keyType, 'ec')
  const weak = await makeCertificate({ curve: 'prime192v1', issuer: root })
  assert.deepEqual(refused(weak.chain, weak.key), ['site.key key_weak'])
})

test('a key that TLS has no use for is refused', () => {
  const { privateKey } = generateKeyPairSync('x25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  assert.deepEqual(refused(site.chain, pem), ['site.key key_unsupported'])
})

test('an expired certificate and one that is not valid yet are accepted: dates are judged by the watch', async () => {
  await made({ names: ['a.example'], notBefore: new Date(1e12), notAfter: new Date(1.1e12) })
  await made({ names: ['a.example'], notBefore: new Date(4e12), notAfter: new Date(4.1e12) })
})

test('a leaf with a key of an unknown kind is refused', () => {
  assert.deepEqual(refused(withUnknownKey(site.cert), site.key), ['site.key key_mismatch'])
})

test('what is found out is made of plain values, which can come from another thread', () => {
  const result = parse(site.chain, site.key)
  assert.deepEqual(structuredClone(result), result)
})

test('whatever is in the files, parsing ends in a certificate or in defects, never in an exception', () => {
  const damage = fc.array(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), byte: fc.nat(255) }), {
    maxLength: 4,
  })
  const der = new X509Certificate(site.cert).raw
  fc.assert(
    fc.property(damage, damage, (inDer, inKey) => {
      const cert = pemOf(damaged(der, inDer)) + intermediate.cert
      const result = parse(cert, damaged(Buffer.from(site.key), inKey).toString('latin1'))
      assert.ok(result.kind === 'proved' || result.defects.length > 0)
    }),
    { numRuns: 300 },
  )
})

/** The same certificate with another number in place of the one that says "EC public key". */
function withUnknownKey(cert: string): string {
  const der = Buffer.from(new X509Certificate(cert).raw)
  const ecPublicKey = Buffer.from('06072a8648ce3d0201', 'hex')
  der[der.indexOf(ecPublicKey) + 8] = 0x55
  return pemOf(der)
}

function damaged(bytes: Buffer, damage: readonly { at: number; byte: number }[]): Buffer {
  const copy = Buffer.from(bytes)
  for (const { at, byte } of damage) copy[Math.floor(at * (copy.length - 1))] = byte
  return copy
}

function pemOf(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
}
