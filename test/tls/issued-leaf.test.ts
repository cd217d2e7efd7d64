// What is read without OpenSSL must be what OpenSSL reads: the same words of the same bytes, and nothing that it refuses.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { createPrivateKey, type KeyObject, sign, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { AuthorityKeyIdentifierExtension, SubjectKeyIdentifierExtension } from '@peculiar/x509'
import fc from 'fast-check'
import { type ChainLink, readLink } from '../../src/tls/chain-link.js'
import { readIssuedLeaf } from '../../src/tls/issued-leaf.js'
import { writePem } from '../../src/tls/pem.js'
import { makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'

test('a leaf that an authority has signed says what OpenSSL says that it does', async () => {
  for (const keyType of ['ec', 'rsa'] as const) {
    const issuer = await makeAuthority({ commonName: `${keyType} authority`, keyType })
    for (const curve of ['prime256v1', 'secp384r1']) {
      const { cert } = await makeCertificate({ names: ['site.example'], commonName: 'site.example', curve, issuer })
      assertAlike(cert, readIssuedLeaf(cert, [linkOf(issuer)]))
    }
  }
})

test('keys that are not proved by their public half alone, and unusual names, are left to OpenSSL', async () => {
  const issuer = await makeAuthority()
  const unusual = [
    { keyType: 'rsa' },
    { keyType: 'ed25519' },
    { curve: 'secp521r1' },
    { commonName: 'müller.example' },
    { hash: 'SHA-1' },
  ] as const
  for (const options of unusual) {
    const { cert } = await makeCertificate({ ...options, issuer })
    assert.equal(readIssuedLeaf(cert, [linkOf(issuer)]), undefined, JSON.stringify(options))
  }
})

test('dates before 1950 and after 2049 are written otherwise, and read alike', async () => {
  const issuer = await makeAuthority()
  for (const year of [1950, 1999, 2000, 2049, 2050, 9999]) {
    const notAfter = new Date(Date.UTC(year, 11, 31, 23, 59, 59))
    const { cert } = await makeCertificate({ issuer, notBefore: new Date(Date.UTC(1950, 0, 1)), notAfter })
    assertAlike(cert, readIssuedLeaf(cert, [linkOf(issuer)]))
  }
})

test('a leaf is left to OpenSSL where nobody of the file has signed it', async () => {
  const [issuer, namesake, other] = [
    await makeAuthority(),
    await makeAuthority(),
    await makeAuthority({ commonName: 'another authority' }),
  ]
  const { cert } = await makeCertificate({ commonName: 'site.example', issuer })
  assert.equal(readIssuedLeaf(cert, []), undefined)
  assert.equal(readIssuedLeaf(cert, [linkOf(namesake), linkOf(other)]), undefined)
  assert.ok(readIssuedLeaf(cert, [linkOf(namesake), linkOf(issuer)]), 'and read where one of several has')
  const { cert: own } = await makeCertificate({ commonName: 'site.example' })
  assert.equal(readIssuedLeaf(own, [readLink(own) as ChainLink]), undefined, 'what signs itself is no leaf of another')
})

test('an authority with another key identifier than the leaf names is not asked', async () => {
  const issuer = await makeAuthority({ extensions: [new SubjectKeyIdentifierExtension('0102')] })
  const leafOf = (id: string) => makeCertificate({ issuer, extensions: [new AuthorityKeyIdentifierExtension(id)] })
  assert.ok(readIssuedLeaf((await leafOf('0102')).cert, [linkOf(issuer)]))
  assert.equal(readIssuedLeaf((await leafOf('0103')).cert, [linkOf(issuer)]), undefined)
})

test('text that is no strict Base64 is left to OpenSSL', async () => {
  const issuer = await makeAuthority()
  const { cert } = await makeCertificate({ issuer })
  const [head = '', first = '', ...rest] = cert.split('\n')
  for (const line of [`${first}!`, `${first}=`, ` ${first}`, first.slice(1), `${first}é`]) {
    assert.equal(readIssuedLeaf([head, line, ...rest].join('\n'), [linkOf(issuer)]), undefined, line)
  }
})

test('no certificate is taken whose bytes have changed but where OpenSSL takes it too, and for the same', async () => {
  const { authority, leaf } = await issued()
  fc.assert(
    fc.property(fc.array(change(leaf.length), { minLength: 1, maxLength: 3 }), (changes) => {
      const pem = writePem('CERTIFICATE', changed(leaf, changes))
      const read = readIssuedLeaf(pem, [authority])
      if (read !== undefined) assertAlike(pem, read)
    }),
    { numRuns: 3_000 },
  )
})

test('whatever an authority may sign, nothing is taken that OpenSSL refuses or reads otherwise', async () => {
  const { authority, leaf, key } = await issued()
  const toBeSigned = leaf.subarray(4, 4 + 4 + leaf.readUInt16BE(6))
  let taken = 0
  fc.assert(
    fc.property(fc.array(change(toBeSigned.length), { minLength: 1, maxLength: 2 }), (changes) => {
      const pem = writePem('CERTIFICATE', signedAnew(changed(toBeSigned, changes), key))
      const read = readIssuedLeaf(pem, [authority])
      if (read === undefined) return
      taken += 1
      assertAlike(pem, read)
    }),
    { numRuns: 4_000 },
  )
  assert.ok(taken > 100, `only ${taken} of all were taken, which proves little`)
})

interface Change {
  readonly at: number
  readonly kind: 'flip' | 'set' | 'remove' | 'insert'
  readonly byte: number
}

function change(length: number): fc.Arbitrary<Change> {
  return fc.record({
    at: fc.integer({ min: 0, max: length - 1 }),
    kind: fc.constantFrom('flip', 'flip', 'set', 'remove', 'insert'),
    byte: fc.oneof(
      fc.constantFrom(0x00, 0x01, 0x7f, 0x80, 0x81, 0x82, 0xff, 0x30, 0x02, 0x05),
      fc.integer({ min: 0, max: 255 }),
    ),
  })
}

function changed(bytes: Buffer, changes: readonly Change[]): Buffer {
  let result: Buffer = Buffer.from(bytes)
  for (const { at, kind, byte } of changes) {
    const before = result.subarray(0, at)
    const old = result[at] ?? 0
    const middle = { flip: [old ^ (1 << (byte & 7))], set: [byte], remove: [], insert: [byte, old] }[kind]
    result = Buffer.concat([before, Buffer.from(middle), result.subarray(at + 1)])
  }
  return result
}

async function issued(): Promise<{ authority: ChainLink; leaf: Buffer; key: KeyObject }> {
  const issuer = await makeAuthority()
  const { cert } = await makeCertificate({ names: ['site.example'], commonName: 'site.example', issuer })
  return { authority: linkOf(issuer), leaf: new X509Certificate(cert).raw, key: createPrivateKey(issuer.key) }
}

function signedAnew(toBeSigned: Buffer, key: KeyObject): Buffer {
  const algorithm = Buffer.from('300a06082a8648ce3d040302', 'hex')
  const bits = Buffer.concat([Buffer.from([0]), sign('sha256', toBeSigned, key)])
  return element(0x30, Buffer.concat([toBeSigned, algorithm, element(0x03, bits)]))
}

function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}

function linkOf({ cert }: TestAuthority): ChainLink {
  const link = readLink(cert)
  assert.ok(typeof link !== 'string')
  return link
}

function assertAlike(pem: string, read: ChainLink | undefined): void {
  const expected = readLink(pem)
  assert.ok(typeof expected !== 'string', `OpenSSL refuses it: ${expected}`)
  assert.ok(read)
  const { x509: _, signer, ...facts } = read
  const { x509: __, signer: ___, ...expectedFacts } = expected
  assert.deepEqual(facts, expectedFacts)
  assert.ok(signer)
}
