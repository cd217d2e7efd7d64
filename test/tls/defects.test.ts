// What is warned of in a pair that serves: for each code a pair that has the defect, and its nearest neighbour that has not.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, test } from 'node:test'
import { Extension, KeyUsageFlags } from '@peculiar/x509'
import { parsePair } from '../../src/tls/certificate-parse.js'
import { type CertificateDefect, defectRules } from '../../src/tls/defects.js'
import type { CertificateOptions, CertificatePair, TestAuthority } from '../support/certificates.js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'

const dayMs = 86_400_000

let root: TestAuthority
let intermediate: TestAuthority
let site: CertificatePair

before(async () => {
  root = await makeAuthority({ commonName: 'root', ...lasting(3_650) })
  intermediate = await makeAuthority({ commonName: 'intermediate', issuer: root, ...lasting(1_000) })
  site = await makeCertificate({ names: ['site.example'], commonName: 'site', issuer: intermediate })
})

function lasting(days: number, fromMs = Date.now() - 3_600_000): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(fromMs), notAfter: new Date(fromMs + days * dayMs) }
}

function defectsOf(cert: string, key: string): readonly CertificateDefect[] {
  const [certBytes, keyBytes] = [Buffer.from(cert), Buffer.from(key)]
  const parsed = parsePair({ certFile: 'site.pem', keyFile: 'site.key', certBytes, keyBytes })
  const defects = parsed.kind === 'proved' ? parsed.pair.facts.warnings : parsed.defects
  for (const { code, act, file, message, hint } of defects) {
    assert.equal(act, defectRules[code].act)
    assert.ok(['site.pem', 'site.key'].includes(file) && message !== '' && hint !== '')
    assert.equal(parsed.kind === 'refused', act === 'refuse', 'what is refused has nothing but reasons for it')
  }
  return defects
}

function codesOf(cert: string, key = site.key): string {
  return defectsOf(cert, key)
    .map(({ code }) => code)
    .join(' ')
}

async function codesWith(options: CertificateOptions): Promise<string> {
  const pair = await makeCertificate({ names: ['site.example'], issuer: intermediate, ...options })
  return codesOf(pair.chain, pair.key)
}

/** A leaf below authorities that are made with these options, nearest to the root first. */
async function codesBelow(...authorities: readonly CertificateOptions[]): Promise<string> {
  let issuer = root
  for (const [index, options] of authorities.entries()) {
    issuer = await makeAuthority({ commonName: `authority ${index}`, ...lasting(1_000), ...options, issuer })
  }
  return await codesWith({ issuer })
}

test('a full chain of a public kind has no defects', () => {
  assert.equal(codesOf(site.chain), '')
})

test('chain_incomplete: the issuer is not in the file, nor is an impostor with its name', async () => {
  assert.equal(codesOf(site.cert), 'chain_incomplete')
  const impostor = await makeAuthority({ commonName: 'intermediate' })
  assert.equal(codesOf(site.cert + impostor.cert), 'chain_incomplete chain_unrelated')
  const [message] = defectsOf(site.cert + impostor.cert, site.key).map((defect) => defect.message)
  assert.match(message ?? '', /strict clients cannot verify/)
})

test('chain_wrong_order: an issuer stands before the one that it has issued', async () => {
  const upper = await makeAuthority({ commonName: 'upper', issuer: root, ...lasting(1_000) })
  const lower = await makeAuthority({ commonName: 'lower', issuer: upper, ...lasting(1_000) })
  const leaf = await makeCertificate({ names: ['site.example'], issuer: lower })
  assert.equal(codesOf(leaf.cert + lower.cert + upper.cert, leaf.key), '')
  assert.equal(codesOf(leaf.cert + upper.cert + lower.cert, leaf.key), 'chain_wrong_order')
})

test('two certificates of one issuer, cross-signed by different roots, are in order either way', async () => {
  const other = await makeAuthority({ commonName: 'other root', ...lasting(3_650) })
  const crossed = await makeAuthority({ commonName: 'root', issuer: other, key: root, ...lasting(2_000) })
  assert.equal(codesOf(site.chain + crossed.cert), '')
  assert.equal(codesOf(site.chain + root.cert + crossed.cert), 'chain_contains_root')
  assert.equal(codesOf(site.chain + crossed.cert + root.cert), 'chain_contains_root')
})

test('chain_unrelated: a certificate has issued none of the others', async () => {
  const stranger = await makeAuthority({ commonName: 'stranger', issuer: root })
  assert.equal(codesOf(site.chain + stranger.cert), 'chain_unrelated')
})

test('chain_duplicate: a certificate stands in the file twice', () => {
  assert.equal(codesOf(site.chain + intermediate.cert), 'chain_duplicate')
  assert.equal(codesOf(site.cert + site.chain), 'chain_duplicate')
})

test('chain_contains_root: the root is sent above an intermediate; alone it is the whole chain', async () => {
  assert.equal(codesOf(site.chain + root.cert), 'chain_contains_root')
  const direct = await makeCertificate({ names: ['site.example'], issuer: root })
  assert.equal(codesOf(direct.cert + root.cert, direct.key), '')
})

test('chain_too_long: ten certificates are looked at one by one, of eleven it is said once', async () => {
  const strangers = await Promise.all(
    Array.from({ length: 9 }, (_, index) => makeAuthority({ commonName: `${index}` })),
  )
  const certificates = strangers.map(({ cert }) => cert)
  const of = (count: number): string => codesOf(site.chain + certificates.slice(0, count).join(''))
  assert.equal(of(8), Array(8).fill('chain_unrelated').join(' '))
  assert.equal(of(9), 'chain_too_long chain_unrelated')
})

test('intermediate_expires_first: the chain ends before the leaf', async () => {
  const { notBefore, notAfter } = lasting(90)
  const below = async (endsMs: number): Promise<string> => {
    const issuer = await makeAuthority({ commonName: 'short', issuer: root, notBefore, notAfter: new Date(endsMs) })
    return await codesWith({ issuer, notBefore, notAfter })
  }
  assert.equal(await below(notAfter.getTime()), '')
  assert.equal(await below(notAfter.getTime() - 1_000), 'intermediate_expires_first')
})

test('intermediate_not_ca: one that is no authority has issued another', async () => {
  assert.equal(await codesBelow({ isAuthority: false }), 'intermediate_not_ca')
})

test('intermediate_key_usage: an authority whose key must not sign certificates', async () => {
  assert.equal(await codesBelow({ keyUsages: KeyUsageFlags.cRLSign }), 'intermediate_key_usage')
  assert.equal(await codesBelow({ keyUsages: KeyUsageFlags.keyCertSign }), '')
})

test('intermediate_path_length: more authorities below one than it allows', async () => {
  assert.equal(await codesBelow({ pathLength: 0 }), '')
  assert.equal(await codesBelow({ pathLength: 1 }, {}), '')
  assert.equal(await codesBelow({ pathLength: 0 }, {}), 'intermediate_path_length')
})

test('an issuer with a key of a kind that this runtime does not know does no harm', () => {
  const der = Buffer.from(new X509Certificate(intermediate.cert).raw)
  der[der.indexOf(Buffer.from('06072a8648ce3d0201', 'hex')) + 8] = 0x55
  const pem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
  assert.equal(codesOf(site.cert + pem), '')
})

test('signature_weak: a leaf or an intermediate that is signed with SHA-1, on every runtime alike', async () => {
  assert.equal(await codesWith({ hash: 'SHA-1' }), 'signature_weak')
  assert.equal(await codesBelow({ hash: 'SHA-1' }), 'signature_weak')
  const old = await makeAuthority({ commonName: 'old root', hash: 'SHA-1', ...lasting(3_650) })
  const leaf = await makeCertificate({ names: ['site.example'], issuer: old })
  assert.equal(codesOf(leaf.cert + old.cert, leaf.key), '', 'a root vouches for itself anyway')
})

test('key_weak: an authority of the chain with a key of 1024 bits', async () => {
  assert.equal(await codesBelow({ keyType: 'rsa', rsaBits: 1024 }), 'key_weak')
  assert.equal(await codesBelow({ keyType: 'rsa', rsaBits: 2048 }), '')
})

test('name_cn_only: no subject alternative name, whatever the common name is', async () => {
  assert.equal(await codesWith({ names: [], commonName: 'site.example' }), 'name_cn_only')
})

test('names_too_many: more than a hundred', async () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `site-${index}.example`)
  assert.equal(await codesWith({ names: names(100) }), '')
  assert.equal(await codesWith({ names: names(101) }), 'names_too_many')
})

test('wildcard_too_broad: a star directly below a top-level domain', async () => {
  assert.equal(await codesWith({ names: ['*.example'] }), 'wildcard_too_broad')
  assert.equal(await codesWith({ names: ['*.site.example'] }), '')
})

test('purpose_not_server: an extended key usage that leaves servers out', async () => {
  assert.equal(await codesWith({ purposes: ['1.3.6.1.5.5.7.3.2'] }), 'purpose_not_server')
  assert.equal(await codesWith({ purposes: ['1.3.6.1.5.5.7.3.1'] }), '')
  assert.equal(await codesWith({ purposes: ['2.5.29.37.0'] }), '', 'any purpose')
})

test('key_usage_not_signing: a key usage without digital signatures', async () => {
  assert.equal(await codesWith({ keyUsages: KeyUsageFlags.keyEncipherment }), 'key_usage_not_signing')
  assert.equal(await codesWith({ keyUsages: KeyUsageFlags.digitalSignature }), '')
})

test('leaf_is_ca: the certificate of an authority as that of a server', async () => {
  assert.equal(await codesWith({ isAuthority: true }), 'leaf_is_ca')
})

test('key_uncommon: Ed25519, and curves that browsers do not know', async () => {
  assert.equal(await codesWith({ keyType: 'ed25519' }), 'key_uncommon')
  assert.equal(await codesWith({ curve: 'P-521' }), 'key_uncommon')
  assert.equal(await codesWith({ curve: 'P-384' }), '')
})

test('must_staple: the certificate demands what is never sent', async () => {
  const feature = (hex: string): Extension => new Extension('1.3.6.1.5.5.7.1.24', false, Buffer.from(hex, 'hex'))
  assert.equal(await codesWith({ extensions: [feature('3003020105')] }), 'must_staple')
  assert.equal(await codesWith({ extensions: [feature('3003020111')] }), '')
})

test('issuer_staging: a test authority', async () => {
  for (const commonName of [
    '(STAGING) Riddling Rhubarb R12',
    'Fake LE Intermediate X1',
    'Pebble Intermediate CA 2f1',
  ]) {
    assert.equal(await codesBelow({ commonName }), 'issuer_staging')
  }
  assert.equal(await codesBelow({ commonName: 'Staging Ltd' }), '')
})

test('self_signed: a certificate of its own', async () => {
  const pair = await makeCertificate({ names: ['site.example'], commonName: 'self' })
  assert.equal(codesOf(pair.chain, pair.key), 'self_signed')
})

/** From when on, and for how many days at most. */
const limits: readonly (readonly [string, number])[] = [
  ['2026-03-14T00:00:00Z', 398],
  ['2026-03-15T00:00:00Z', 200],
  ['2027-03-15T00:00:00Z', 100],
  ['2029-03-15T00:00:00Z', 47],
]

for (const [from, days] of limits) {
  test(`lifetime_over_limit: more than ${days} days from ${from.slice(0, 10)} on, of public authorities alone`, async () => {
    const fromMs = Date.parse(from)
    const issuer = await makeAuthority({ commonName: 'public', issuer: root, ...lasting(9_000) })
    const publicPolicy = new Extension('2.5.29.32', false, Buffer.from('300a3008060667810c010201', 'hex'))
    const ofPublic = { issuer, extensions: [publicPolicy] }
    const { notBefore, notAfter } = lasting(days, fromMs)
    const exact = { notBefore, notAfter: new Date(notAfter.getTime() - 1_000) }
    assert.equal(await codesWith({ ...ofPublic, ...exact }), '')
    assert.equal(await codesWith({ ...ofPublic, notBefore, notAfter }), 'lifetime_over_limit')
    assert.equal(await codesWith({ issuer, notBefore, notAfter }), '')
  })
}
