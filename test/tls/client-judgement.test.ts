// What a proof is worth under a policy, now: OpenSSL's verdict for the authorities it was asked about, our own for others,
// pins, dates that pass on an open connection, and authorities that a reload brings or takes.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { Extension } from '@peculiar/x509'
import { judgeClient } from '../../src/tls/client-judgement.js'
import { type ClientPins, type ClientPolicy, clientPolicy } from '../../src/tls/client-policy.js'
import { type ClientTrust, readClientTrust } from '../../src/tls/client-trust.js'
import type { ClientProof } from '../../src/wire/connection.js'
import { type CertificatePair, makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'

const nowMs = Date.now()
const dayMs = 86_400_000
const noPins: ClientPins = { fingerprints: [], sans: [], subjects: [] }

let authorities: { readonly a: TestAuthority; readonly b: TestAuthority }
let trusts: { readonly a: ClientTrust; readonly b: ClientTrust; readonly both: ClientTrust }
let client: CertificatePair

before(async () => {
  const [a, b] = [await makeAuthority({ commonName: 'a' }), await makeAuthority({ commonName: 'b' })]
  authorities = { a, b }
  trusts = { a: trustOf(a.cert), b: trustOf(b.cert), both: trustOf(b.cert + a.cert) }
  client = await makeCertificate({
    commonName: 'Client\\, Inc.',
    names: ['Client.example', '192.0.2.7', '2001:db8::1'],
    issuer: a,
    notAfter: new Date(nowMs + dayMs),
  })
})

function trustOf(text: string): ClientTrust {
  const trust = readClientTrust(text)
  if (!('id' in trust)) throw new Error(trust.message)
  return trust
}

function proofOf(pair: CertificatePair | undefined, more: Partial<ClientProof> = {}): ClientProof {
  const blocks = pair?.chain.split(/(?<=END CERTIFICATE-----\n)/).filter((text) => text.trim() !== '') ?? []
  const chain = blocks.map((pem) => new X509Certificate(pem).raw)
  return { policyId: 'any', trustId: 'another', chain, verifyError: undefined, shownAtMs: nowMs, ...more }
}

function reasonOf(policy: ClientPolicy, proof: ClientProof, atMs = nowMs): string {
  return judgeClient(policy, proof, atMs).reason
}

function pinned(pins: Partial<ClientPins>): string {
  return reasonOf(clientPolicy(trusts.a, { ...noPins, ...pins }), proofOf(client))
}

describe('a policy', () => {
  test('is the same whatever the order and the files of its parts', () => {
    const [one, other] = [trustOf(authorities.a.cert + authorities.b.cert), trusts.both]
    assert.equal(one.id, other.id)
    assert.equal(trustOf(`${authorities.a.cert}# again\n${authorities.a.cert}`).id, trusts.a.id)
    const pins = { fingerprints: [], sans: ['x.example', 'Y.example'], subjects: ['CN=x'] }
    const turned = { ...pins, sans: ['y.example', 'x.example', 'x.example'] }
    assert.equal(clientPolicy(one, pins).id, clientPolicy(other, turned).id)
  })

  test('is another one with any other authority or pin, of any kind', () => {
    const policies = [
      clientPolicy(trusts.a, noPins),
      clientPolicy(trusts.b, noPins),
      clientPolicy(trusts.both, noPins),
      clientPolicy(trusts.a, { ...noPins, sans: ['x'] }),
      clientPolicy(trusts.a, { ...noPins, subjects: ['x'] }),
      clientPolicy(trusts.a, { ...noPins, fingerprints: ['x'] }),
      clientPolicy(trusts.a, { ...noPins, sans: ['x', 'y'] }),
    ]
    assert.equal(new Set(policies.map(({ id }) => id)).size, policies.length)
  })
})

describe('a proof', () => {
  test('of nothing is nothing, and what cannot be read is invalid', () => {
    const policy = clientPolicy(trusts.a, noPins)
    assert.equal(reasonOf(policy, proofOf(undefined, { trustId: trusts.a.id })), 'missing')
    const junk = proofOf(undefined, { chain: [Buffer.from('junk')], trustId: trusts.a.id })
    assert.equal(reasonOf(policy, junk), 'invalid')
  })

  test('counts under every policy whose authorities have issued it', () => {
    const reasons = [trusts.a, trusts.b, trusts.both].map((trust) =>
      reasonOf(clientPolicy(trust, noPins), proofOf(client)),
    )
    assert.deepEqual(reasons, ['good', 'invalid', 'good'])
  })

  test('that OpenSSL found bad stays bad under the authorities it was asked about', () => {
    const policy = clientPolicy(trusts.a, noPins)
    const found = (verifyError: string) => reasonOf(policy, proofOf(client, { trustId: trusts.a.id, verifyError }))
    assert.equal(found('CERT_SIGNATURE_FAILURE'), 'invalid')
    assert.equal(found('CERT_HAS_EXPIRED'), 'expired')
    assert.equal(found('CERT_NOT_YET_VALID'), 'expired')
    assert.equal(found('UNKNOWN'), 'invalid')
  })

  test('that OpenSSL found good is worth nothing under other authorities', async () => {
    const stranger = await makeCertificate({ issuer: authorities.b })
    const proof = proofOf(stranger, { trustId: trusts.b.id })
    assert.equal(reasonOf(clientPolicy(trusts.b, noPins), proof), 'good')
    assert.equal(reasonOf(clientPolicy(trusts.a, noPins), proof), 'invalid')
  })

  test('that OpenSSL found good counts also where our own check is stricter, as long as its dates hold', async () => {
    const constrained = await makeCertificate({
      issuer: authorities.a,
      hash: 'SHA-1',
      notAfter: new Date(Math.floor(nowMs / 1000) * 1000 + 5_000),
    })
    const own = proofOf(constrained, { trustId: trusts.a.id })
    const policy = clientPolicy(trusts.a, noPins)
    assert.equal(reasonOf(policy, own), 'good')
    assert.equal(reasonOf(policy, own, nowMs + 6_000), 'expired')
    assert.equal(reasonOf(policy, proofOf(constrained)), 'invalid')
  })

  test('ends with the certificate and with its authority, on a connection that stays open', async () => {
    const short = await makeAuthority({ commonName: 'short', notAfter: new Date(nowMs + dayMs) })
    const long = await makeCertificate({ issuer: short, notAfter: new Date(nowMs + 2 * dayMs) })
    for (const [pair, trust] of [
      [client, trusts.a],
      [long, trustOf(short.cert)],
    ] as const) {
      for (const trustId of [trust.id, 'another']) {
        const [policy, proof] = [clientPolicy(trust, noPins), proofOf(pair, { trustId })]
        const reasons = [0, dayMs - 2000, dayMs + 1].map((laterMs) => reasonOf(policy, proof, nowMs + laterMs))
        assert.deepEqual(reasons, ['good', 'good', 'expired'])
        assert.equal(reasonOf(policy, proof), 'good', 'a clock that was set right again')
      }
    }
  })

  test('is judged once until a date passes, and never for another policy', () => {
    const [policy, proof] = [clientPolicy(trusts.a, noPins), proofOf(client)]
    const first = judgeClient(policy, proof, nowMs)
    assert.equal(judgeClient(policy, proof, nowMs + 1000), first)
    assert.equal(judgeClient(clientPolicy(trustOf(authorities.a.cert), noPins), proof, nowMs), first, 'an equal policy')
    assert.notEqual(judgeClient(policy, proof, nowMs + 2 * dayMs), first)
    const others = Array.from({ length: 40 }, (_, index) =>
      clientPolicy(trusts.a, { ...noPins, subjects: [`CN=${index}`] }),
    )
    for (const other of others) assert.equal(reasonOf(other, proof), 'not_allowed')
    assert.equal(reasonOf(policy, proof), 'good')
  })
})

describe('pins', () => {
  test('of each kind are met by one of them, written as people write them', () => {
    const fingerprint = new X509Certificate(client.cert).fingerprint256.replaceAll(':', '').toLowerCase()
    assert.equal(pinned({ fingerprints: ['00'.repeat(32), fingerprint] }), 'good')
    assert.equal(pinned({ fingerprints: ['00'.repeat(32)] }), 'not_allowed')
    for (const san of ['client.example', 'CLIENT.example', '192.0.2.7', '2001:DB8:0::1']) {
      assert.equal(pinned({ sans: ['nobody.example', san] }), 'good', san)
    }
    for (const san of [
      'example',
      '*.example',
      'a.client.example',
      '192.0.2.8',
      'uri://client.example',
      'x@client.example',
    ]) {
      assert.equal(pinned({ sans: [san] }), 'not_allowed', san)
    }
  })

  test('of several kinds must all be met', () => {
    const subjects = ['CN=Client\\, Inc.']
    assert.equal(pinned({ subjects, sans: ['client.example'] }), 'good')
    assert.equal(pinned({ subjects, sans: ['nobody.example'] }), 'not_allowed')
    assert.equal(pinned({ subjects: ['CN=nobody'], sans: ['client.example'] }), 'not_allowed')
  })

  test('of subjects are whole: no part, no other order, no value that looks like two', async () => {
    const nested = await makeCertificate({ commonName: 'x\\, O=Example', issuer: authorities.a })
    const policy = (subject: string) => clientPolicy(trusts.a, { ...noPins, subjects: [subject] })
    assert.equal(reasonOf(policy('CN=x, O=Example'), proofOf(nested)), 'not_allowed')
    assert.equal(reasonOf(policy('CN=x\\, O=Example'), proofOf(nested)), 'good')
    assert.equal(pinned({ subjects: ['Client, Inc.'] }), 'not_allowed')
  })

  test('tell a host name from an address that is written like one', async () => {
    const dnsName = Uint8Array.from([0x30, 11, 0x82, 9, ...Buffer.from('192.0.2.7')])
    const extensions = [new Extension('2.5.29.17', false, dnsName)]
    const posing = await makeCertificate({ issuer: authorities.a, extensions })
    const policy = clientPolicy(trusts.a, { ...noPins, sans: ['192.0.2.7'] })
    assert.equal(reasonOf(policy, proofOf(posing)), 'not_allowed')
  })

  test('do not help whom nobody trusts', async () => {
    const own = await makeCertificate({ commonName: 'Client\\, Inc.', names: ['client.example'] })
    const policy = clientPolicy(trusts.a, { ...noPins, sans: ['client.example'] })
    assert.equal(reasonOf(policy, proofOf(own)), 'invalid')
  })
})

describe('a bundle of authorities', () => {
  const mistakeOf = (text: string): string => {
    const trust = readClientTrust(text)
    return 'id' in trust ? 'none' : trust.message
  }

  test('that is empty, cut off or half broken is a mistake, never "the public roots"', () => {
    const { a, b } = authorities
    assert.match(mistakeOf(''), /is empty/)
    assert.match(mistakeOf('\n'), /is empty/)
    assert.match(mistakeOf('# nothing but a comment\n'), /holds no PEM certificate/)
    assert.match(mistakeOf(a.cert + b.cert.slice(0, -40)), /does not begin or end as it should/)
    assert.match(mistakeOf(a.cert.replace(/\n.{10}/, '\n') + b.cert), /block 1 of 2/)
    assert.match(mistakeOf(a.cert + a.key), /block 2 of 2 is no certificate: PRIVATE KEY/)
  })

  test('that holds a certificate of a client, or no root, is a mistake', async () => {
    const below = await makeAuthority({ commonName: 'below', issuer: authorities.a })
    assert.match(mistakeOf(authorities.a.cert + client.cert), /certificate 2 of 2 \(CN=Client.* is no authority/)
    assert.match(mistakeOf(below.cert), /holds no root/)
    assert.equal(mistakeOf(below.cert + authorities.a.cert), 'none')
  })

  test('has a hundred authorities at most', async () => {
    const many: string[] = []
    for (let index = 0; index < 101; index++) many.push((await makeAuthority({ commonName: `${index}` })).cert)
    assert.equal(mistakeOf(many.slice(1).join('')), 'none')
    assert.match(mistakeOf(many.join('')), /more than 100 authorities/)
  })
})
