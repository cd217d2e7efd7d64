// Which certificate which client gets, by rule and in real handshakes.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Certificate } from '../../src/tls/certificate.js'
import { CertificateStore } from '../../src/tls/certificate-store.js'
import { proved } from './proved.js'
import { probe } from './tls-probe.js'

const dayMs = 86_400_000
const nowMs = Date.now()
const both = { supportsEcdsa: true, supportsRsa: true }
const rsaOnly = { supportsEcdsa: false, supportsRsa: true }
const ecdsaOnly = { supportsEcdsa: true, supportsRsa: false }

let ec: Certificate
let rsa: Certificate
let ed25519: Certificate
let expiredEc: Certificate
let futureEc: Certificate
let fallback: Certificate

before(async () => {
  const names = ['site.example']
  ec = await proved({ names })
  rsa = await proved({ names, keyType: 'rsa' })
  ed25519 = await proved({ names, keyType: 'ed25519' })
  expiredEc = await proved({ names, notBefore: new Date(nowMs - 9 * dayMs), notAfter: new Date(nowMs - dayMs) })
  futureEc = await proved({ names, notBefore: new Date(nowMs + dayMs), notAfter: new Date(nowMs + 9 * dayMs) })
  fallback = await proved({ names: ['fallback.example'] })
})

function storeOf(site: readonly Certificate[], fallbackCertificate?: Certificate): CertificateStore {
  const sites = new Map([['site.example', site]])
  return new CertificateStore({ sites, fallback: fallbackCertificate, clock: () => nowMs })
}

const serverName = 'site.example'

test('a site with both key types gives EC to a client that supports it and RSA to one that does not', () => {
  for (const pairs of [
    [ec, rsa],
    [rsa, ec],
  ]) {
    const store = storeOf(pairs, fallback)
    assert.equal(store.choose({ serverName, ...both }), ec)
    assert.equal(store.choose({ serverName, ...ecdsaOnly }), ec)
    assert.equal(store.choose({ serverName, ...rsaOnly }), rsa)
  }
})

test("a client that lacks the site's only key type still gets the site's own certificate", () => {
  assert.equal(storeOf([ec], fallback).choose({ serverName, ...rsaOnly }), ec)
  assert.equal(storeOf([rsa], fallback).choose({ serverName, ...ecdsaOnly }), rsa)
  assert.equal(storeOf([ed25519], fallback).choose({ serverName, ...both }), ed25519)
})

test('an expired certificate, or one that is not valid yet, does not beat a valid one', () => {
  for (const invalid of [expiredEc, futureEc]) {
    for (const pairs of [
      [invalid, rsa],
      [rsa, invalid],
    ]) {
      assert.equal(storeOf(pairs).choose({ serverName, ...both }), rsa)
    }
  }
})

test('of two of a kind the one that lasts longer is given, in whatever order they stand, and an expired one never', async () => {
  const longer = await proved({ names: ['site.example'], notAfter: new Date(nowMs + 200 * dayMs) })
  const wildcard = await proved({ names: ['*.example'] })
  const equals = [ec, wildcard].sort((left, right) => (left.fingerprint256 < right.fingerprint256 ? -1 : 1))
  for (const [pairs, best] of [
    [[ec, longer], longer],
    [[expiredEc, wildcard], wildcard],
    [[expiredEc, futureEc, wildcard, longer], longer],
    [equals, equals.toSorted(byEnd)[0]],
  ] as const) {
    assert.equal(storeOf(pairs).choose({ serverName, ...both }), best)
    assert.equal(storeOf([...pairs].reverse()).choose({ serverName, ...both }), best)
  }
})

/** The later end first, then the greater fingerprint. */
function byEnd(left: Certificate, right: Certificate): number {
  return right.notAfterMs - left.notAfterMs || (left.fingerprint256 < right.fingerprint256 ? 1 : -1)
}

test('an expired certificate is given where the client cannot use the valid one, and where there is no other', () => {
  assert.equal(storeOf([expiredEc, rsa]).choose({ serverName, ...ecdsaOnly }), expiredEc)
  assert.equal(storeOf([expiredEc], fallback).choose({ serverName, ...both }), expiredEc)
})

test('an Ed25519 certificate is given only where the site has no other', () => {
  assert.equal(storeOf([ed25519, rsa]).choose({ serverName, ...both }), rsa)
})

test('an unknown and a missing name get the fallback, or nothing where there is none', () => {
  for (const name of ['other.example', undefined]) {
    assert.equal(storeOf([ec], fallback).choose({ serverName: name, ...both }), fallback)
    assert.equal(storeOf([ec]).choose({ serverName: name, ...both }), undefined)
  }
})

test('a site without a certificate that can be used gets the fallback, so that 421 can be said', () => {
  assert.equal(storeOf([], fallback).choose({ serverName, ...both }), fallback)
})

const algorithms = {
  ecdsaOnly: 'ecdsa_secp256r1_sha256',
  rsaOnly: 'rsa_pss_rsae_sha256:RSA+SHA256',
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`what is chosen completes a real ${version} handshake with clients of one key type and of both`, async () => {
    const store = storeOf([ec, rsa], fallback)
    const meet = async (abilities: typeof both, sigalgs?: string): Promise<string> => {
      const chosen = store.choose({ serverName, ...abilities })
      return (await probe(chosen, { version, ...(sigalgs === undefined ? {} : { sigalgs }) })).fingerprint256
    }
    assert.equal(await meet(ecdsaOnly, algorithms.ecdsaOnly), ec.fingerprint256)
    assert.equal(await meet(rsaOnly, algorithms.rsaOnly), rsa.fingerprint256)
    assert.equal(await meet(both), ec.fingerprint256)
  })

  test(`a ${version} client that supports no key of the site is refused, not given another site's`, async () => {
    const chosen = storeOf([ec], rsa).choose({ serverName, ...rsaOnly })
    assert.equal(chosen, ec)
    await assert.rejects(probe(chosen, { version, sigalgs: algorithms.rsaOnly }))
  })
}
