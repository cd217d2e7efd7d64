// The small reader of DER and what it reads out of certificates: right on what is well formed, quiet on what is not.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, test } from 'node:test'
import { AuthorityKeyIdentifierExtension, Extension, SubjectKeyIdentifierExtension } from '@peculiar/x509'
import fc from 'fast-check'
import { readDetails } from '../../src/tls/certificate-details.js'
import { derChildren, derElements, objectIdentifier } from '../../src/tls/der.js'
import { readSubjectNames } from '../../src/tls/subject-names.js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'

let rich: Buffer

before(async () => {
  const issuer = await makeAuthority({ commonName: 'issuer' })
  const pair = await makeCertificate({
    names: ['a.example', '192.0.2.1'],
    issuer,
    extensions: [
      new SubjectKeyIdentifierExtension('0102'),
      new AuthorityKeyIdentifierExtension('00ff07'),
      new Extension('1.3.6.1.5.5.7.1.24', false, Buffer.from('3003020105', 'hex')),
      new Extension('2.5.29.32', false, Buffer.from('300a3008060667810c010201', 'hex')),
    ],
  })
  rich = new X509Certificate(pair.cert).raw
})

test('elements side by side, lengths of one byte and of more, and what is inside', () => {
  const long = Buffer.concat([Buffer.from('04820101', 'hex'), Buffer.alloc(257, 7)])
  const elements = derElements(Buffer.concat([Buffer.from('0500', 'hex'), long, Buffer.from('3003020105', 'hex')]))
  assert.deepEqual(
    elements.map(({ tag, content }) => [tag, content.length]),
    [
      [0x05, 0],
      [0x04, 257],
      [0x30, 3],
    ],
  )
  assert.deepEqual(derChildren(elements[2]), [{ tag: 2, content: Buffer.from([5]) }])
})

for (const [what, hex] of [
  ['a length without its bytes', '0482ff'],
  ['a length beyond the end', '040301'],
  ['an indefinite length', '30800000'],
  ['a length of five bytes', '04850000000001ff'],
  ['a tag of several bytes', '1f8101'],
  ['a lone byte', '04'],
] as const) {
  test(`${what} ends the list, and what stands before it is kept`, () => {
    assert.deepEqual(derElements(Buffer.from(`0500${hex}`, 'hex')), [{ tag: 5, content: Buffer.alloc(0) }])
  })
}

test('object identifiers are written as people write them', () => {
  const text = (hex: string): string => objectIdentifier({ tag: 6, content: Buffer.from(hex, 'hex') })
  assert.equal(text('551d11'), '2.5.29.17')
  assert.equal(text('2a864886f70d01010b'), '1.2.840.113549.1.1.11')
  assert.equal(text('883703'), '2.999.3')
  assert.equal(text('2a86'), '')
  assert.equal(text(''), '')
})

test('a certificate is read with its key identifiers, policies and must-staple', () => {
  const details = readDetails(rich)
  assert.equal(details.subjectKeyId?.toString('hex'), '0102')
  assert.equal(details.authorityKeyId?.toString('hex'), '00ff07')
  assert.deepEqual(details.policies, ['2.23.140.1.2.1'])
  assert.equal(details.mustStaple, true)
  assert.equal(details.isCa, false)
  assert.deepEqual(details.keyUsage, { digitalSignature: true, certificateSigning: false })
  assert.deepEqual(details.purposes, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
  assert.equal(details.weakSignature, undefined)
  assert.equal(
    BigInt(`0x${details.serialBytes.toString('hex')}`),
    BigInt(`0x${new X509Certificate(rich).serialNumber}`),
  )
})

const signatures: readonly (readonly [string, string, string | undefined])[] = [
  ['SHA-256 with RSA', '300d06092a864886f70d01010b0500', undefined],
  ['SHA-256 with ECDSA', '300a06082a8648ce3d040302', undefined],
  ['SHA-1 with RSA', '300d06092a864886f70d0101050500', 'SHA-1 with RSA'],
  ['MD5 with RSA', '300d06092a864886f70d0101040500', 'MD5 with RSA'],
  ['SHA-1 with ECDSA', '300906072a8648ce3d0401', 'SHA-1 with ECDSA'],
  ['SHA-1 with RSA-PSS, as its default', '300d06092a864886f70d01010a3000', 'SHA-1 with RSA-PSS'],
  ['SHA-1 with RSA-PSS, said', '301806092a864886f70d01010a300ba009300706052b0e03021a', 'SHA-1 with RSA-PSS'],
  ['SHA-256 with RSA-PSS', '301e06092a864886f70d01010a3011a00f300d06096086480165030402010500', undefined],
]

for (const [what, algorithm, weak] of signatures) {
  test(`${what} is ${weak === undefined ? 'no' : 'a'} weak signature`, () => {
    assert.equal(readDetails(sequence(Buffer.from('3000', 'hex'), Buffer.from(algorithm, 'hex'))).weakSignature, weak)
  })
}

test('whatever the bytes are, reading ends, and in plain values', () => {
  const anything = fc.uint8Array({ maxLength: 300 })
  fc.assert(
    fc.property(anything, (bytes) => assert.ok(readAll(Buffer.from(bytes)))),
    { numRuns: 500 },
  )
  const damage = fc.array(fc.tuple(fc.nat(rich.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(damage, fc.nat(rich.length), (bytes, end) => {
      const copy = Buffer.from(rich)
      for (const [at, byte] of bytes) copy[at] = byte
      assert.ok(readAll(copy) && readAll(copy.subarray(0, end)))
    }),
    { numRuns: 1_000 },
  )
})

test('a million empty elements are not all read', () => {
  assert.ok(derElements(Buffer.alloc(2_000_000)).length < 100_000)
})

function readAll(der: Buffer): boolean {
  return typeof readDetails(der).isCa === 'boolean' && Array.isArray(readSubjectNames(der))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([0x30, content.length]), content])
}
