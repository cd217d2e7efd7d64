// The path check that decides over clients where OpenSSL was not asked: for each rule what is just inside and what is just
// outside, and the ways in which somebody without the authorities' consent tries to get in.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { BasicConstraintsExtension, Extension, KeyUsageFlags } from '@peculiar/x509'
import { type ChainLink, readLink } from '../../src/tls/chain-link.js'
import { intermediatesMax, pathRefusal, signaturesMax } from '../../src/tls/client-path.js'
import { type CertificateOptions, makeAuthority, makeCertificate, type TestAuthority } from '../support/certificates.js'

const dayMs = 86_400_000
const nowMs = Date.now()
const clientAuth = '1.3.6.1.5.5.7.3.2'
const serverAuth = '1.3.6.1.5.5.7.3.1'
const anyPurpose = '2.5.29.37.0'

let root: TestAuthority
let intermediate: TestAuthority

before(async () => {
  root = await makeAuthority({ commonName: 'root' })
  intermediate = await makeAuthority({ commonName: 'intermediate', issuer: root })
})

function linkOf(pem: string): ChainLink {
  const link = readLink(pem)
  if (typeof link === 'string') throw new Error(link)
  return link
}

interface Shown {
  readonly leaf: string
  readonly sent?: readonly string[]
  readonly trusted?: readonly string[]
  readonly atMs?: number
}

/** `good`, or the reason and why. */
function judged({ leaf, sent = [intermediate.cert], trusted = [root.cert], atMs = nowMs }: Shown): string {
  const options = { sent: sent.map(linkOf), authorities: trusted.map(linkOf), nowMs: atMs }
  const refusal = pathRefusal(linkOf(leaf), options)
  return refusal === undefined ? 'good' : `${refusal.reason}: ${refusal.detail}`
}

async function judgedLeaf(options: CertificateOptions): Promise<string> {
  const { cert } = await makeCertificate({ commonName: 'client', issuer: intermediate, ...options })
  return judged({ leaf: cert })
}

/** A client below authorities made with these options, nearest to the root first. */
async function below(
  authorities: readonly CertificateOptions[],
  leafOptions: CertificateOptions = {},
): Promise<{ leaf: string; sent: string[] }> {
  let issuer = root
  const sent: string[] = []
  for (const [index, options] of authorities.entries()) {
    issuer = await makeAuthority({ commonName: `authority ${index}`, ...options, issuer })
    sent.unshift(issuer.cert)
  }
  const { cert } = await makeCertificate({ commonName: 'client', ...leafOptions, issuer })
  return { leaf: cert, sent }
}

async function judgedBelow(...authorities: readonly CertificateOptions[]): Promise<string> {
  return judged(await below(authorities))
}

describe('a path', () => {
  test('leads from a client over what it sent to a root that is trusted', async () => {
    assert.equal(await judgedLeaf({}), 'good')
    const direct = await makeCertificate({ commonName: 'client', issuer: root })
    assert.equal(judged({ leaf: direct.cert, sent: [] }), 'good')
  })

  test('leads over authorities of the bundle that the client left out', async () => {
    const { cert } = await makeCertificate({ commonName: 'client', issuer: intermediate })
    assert.equal(judged({ leaf: cert, sent: [], trusted: [intermediate.cert, root.cert] }), 'good')
    assert.match(judged({ leaf: cert, sent: [] }), /^invalid: nobody that is trusted/)
  })

  test('ends in a root alone: an authority of the bundle whose root is not there ends nothing', async () => {
    const { cert } = await makeCertificate({ commonName: 'client', issuer: intermediate })
    assert.match(judged({ leaf: cert, trusted: [intermediate.cert] }), /^invalid/)
  })

  test('may be sent in any order, with strangers and the root itself among it', async () => {
    const { leaf, sent } = await below([{}, {}])
    const stranger = await makeAuthority({ commonName: 'stranger' })
    assert.equal(judged({ leaf, sent: [root.cert, stranger.cert, ...sent.reverse()] }), 'good')
  })

  test('may be the certificate alone where that is a trusted root', async () => {
    const own = await makeAuthority({ commonName: 'a client of its own', keyUsages: allUsages })
    assert.equal(judged({ leaf: own.cert, sent: [], trusted: [own.cert] }), 'good')
    const other = await makeAuthority({ commonName: 'a client of its own', keyUsages: allUsages })
    assert.match(judged({ leaf: other.cert, sent: [], trusted: [own.cert] }), /^invalid/)
  })

  test('has three authorities between client and root, not four', async () => {
    assert.equal(intermediatesMax, 3)
    assert.equal(await judgedBelow({}, {}, {}), 'good')
    assert.match(await judgedBelow({}, {}, {}, {}), /^invalid: more than 3 authorities/)
  })
})

const allUsages = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature

describe('somebody without consent', () => {
  test('who signs with a key of its own under the name of a trusted root', async () => {
    const impostor = await makeAuthority({ commonName: 'root' })
    const { cert } = await makeCertificate({ commonName: 'client', issuer: impostor })
    assert.match(judged({ leaf: cert, sent: [] }), /^invalid: CN=root has not signed CN=client/)
    assert.match(judged({ leaf: cert, sent: [impostor.cert] }), /^invalid/)
  })

  test('who signs itself, or trusts itself by sending its own root', async () => {
    const own = await makeCertificate({ commonName: 'client' })
    assert.match(judged({ leaf: own.cert, sent: [] }), /^invalid/)
    const foreign = await makeAuthority({ commonName: 'foreign' })
    const { cert } = await makeCertificate({ commonName: 'client', issuer: foreign })
    assert.match(judged({ leaf: cert, sent: [foreign.cert] }), /^invalid/)
  })

  test('who has a good certificate of its own and signs another with it', async () => {
    const client = await makeCertificate({ commonName: 'client', issuer: intermediate })
    const asAuthority = await makeAuthority({ commonName: 'client' })
    const { cert } = await makeCertificate({ commonName: 'admin', issuer: asAuthority })
    assert.match(judged({ leaf: cert, sent: [client.cert, intermediate.cert] }), /^invalid: CN=client is no authority/)
  })

  test('whose authority is one in name: no basic constraints, CA:FALSE, a key that must not sign', async () => {
    assert.match(await judgedBelow({ isAuthority: false }), /^invalid: CN=authority 0 is no authority/)
    const usage = { keyUsages: KeyUsageFlags.digitalSignature }
    assert.match(await judgedBelow(usage), /^invalid: the key of CN=authority 0 must not sign certificates/)
    assert.equal(await judgedBelow({ keyUsages: KeyUsageFlags.keyCertSign }), 'good')
  })

  test('who stands further below an authority than that may reach', async () => {
    assert.equal(await judgedBelow({ pathLength: 1 }, {}), 'good')
    assert.match(await judgedBelow({ pathLength: 0 }, {}), /^invalid: CN=authority 0 has too many authorities below it/)
    assert.equal(await judgedBelow({ pathLength: 0 }), 'good')
    assert.match(await judgedBelow({ pathLength: 1 }, {}, {}), /^invalid: CN=authority 0 has too many/)
  })

  test('who shows the certificate of a server, or a key that must not sign handshakes', async () => {
    assert.match(await judgedLeaf({ purposes: [serverAuth] }), /^invalid: CN=client is not for clients/)
    assert.match(await judgedLeaf({ purposes: [anyPurpose] }), /^invalid: CN=client is not for clients/)
    assert.equal(await judgedLeaf({ purposes: [serverAuth, clientAuth] }), 'good')
    const usage = { keyUsages: KeyUsageFlags.keyEncipherment }
    assert.match(await judgedLeaf(usage), /^invalid: the key of CN=client must not sign/)
    assert.equal(await judgedLeaf({ keyUsages: KeyUsageFlags.digitalSignature }), 'good')
  })

  test('whose authority is for servers alone', async () => {
    const only = (purpose: string) => ({ extensions: [purposesExtension(purpose)] })
    assert.match(await judgedBelow(only(serverAuth)), /^invalid: CN=authority 0 is not for clients/)
    assert.equal(await judgedBelow(only(clientAuth)), 'good')
    assert.equal(await judgedBelow(only(anyPurpose)), 'good')
  })

  test('whose certificate demands what we do not understand', async () => {
    const unknown = (isCritical: boolean) => ({ extensions: [new Extension('1.2.3.4.5', isCritical, derNull)] })
    assert.match(
      await judgedLeaf(unknown(true)),
      /^invalid: CN=client has the unknown critical extension 1\.2\.3\.4\.5/,
    )
    assert.equal(await judgedLeaf(unknown(false)), 'good')
    assert.match(await judgedBelow(unknown(true)), /^invalid: CN=authority 0 has the unknown critical/)
    assert.equal(await judgedBelow(unknown(false)), 'good')
  })

  test('whose authority may sign for some names alone, critical or not', async () => {
    for (const isCritical of [true, false]) {
      const constrained = { extensions: [new Extension('2.5.29.30', isCritical, nameConstraints)] }
      assert.match(await judgedBelow(constrained), /^invalid: CN=authority 0 has name constraints/)
    }
  })

  test('who says something twice', async () => {
    const twice = { extensions: [new BasicConstraintsExtension(true, undefined, true)] }
    assert.match(await judgedBelow(twice), /^invalid: CN=authority 0 has an extension twice/)
  })

  test('whose chain is signed with SHA-1, or whose key is weak', async () => {
    assert.match(await judgedLeaf({ hash: 'SHA-1' }), /^invalid: CN=client is signed with SHA-1 with ECDSA/)
    assert.match(await judgedBelow({ hash: 'SHA-1' }), /^invalid: CN=authority 0 is signed with/)
    assert.match(await judgedLeaf({ keyType: 'rsa', rsaBits: 1024 }), /^invalid: CN=client has an RSA key of 1024 bits/)
    assert.equal(await judgedLeaf({ keyType: 'rsa', rsaBits: 2048 }), 'good')
    assert.equal(await judgedLeaf({ keyType: 'ed25519' }), 'good')
  })

  test('whose certificate is changed in one byte, anywhere in what is signed', async () => {
    const { cert } = await makeCertificate({ commonName: 'client', issuer: intermediate })
    const { raw } = new X509Certificate(cert)
    let refused = 0
    for (let at = 40; at < raw.length; at += 7) {
      const changed = Buffer.from(raw)
      changed[at] = (changed[at] as number) ^ 1
      const link = readLink(changed)
      if (typeof link === 'string') continue
      const options = { sent: [linkOf(intermediate.cert)], authorities: [linkOf(root.cert)], nowMs }
      assert.notEqual(pathRefusal(link, options), undefined, `byte ${at}`)
      refused += 1
    }
    assert.ok(refused > 10)
  })
})

describe('dates', () => {
  test('count for the client, for what stands between, and for the root, to the second', async () => {
    const [notBefore, notAfter] = [new Date(nowMs - dayMs), new Date(Math.floor(nowMs / 1000) * 1000 + dayMs)]
    const end = notAfter.getTime()
    const dated = { notBefore, notAfter }
    const cases: Shown[] = [await below([{}], dated), await below([dated])]
    const shortRoot = await makeAuthority({ commonName: 'short root', ...dated })
    const { cert } = await makeCertificate({ commonName: 'client', issuer: shortRoot, notAfter: new Date(end + dayMs) })
    cases.push({ leaf: cert, sent: [], trusted: [shortRoot.cert] })
    for (const shown of cases) {
      assert.equal(judged({ ...shown, atMs: end }), 'good')
      assert.match(judged({ ...shown, atMs: end + 1 }), /^expired: CN=.* is not valid at this time/)
      assert.match(judged({ ...shown, atMs: notBefore.getTime() - 1000 }), /^expired/)
    }
  })

  test('of an expired authority do no harm where another of the same key is valid', async () => {
    const expired = await makeAuthority({ commonName: 'renewed', issuer: root, notAfter: new Date(nowMs - 1000) })
    const valid = await makeAuthority({ commonName: 'renewed', issuer: root, key: expired })
    const { cert } = await makeCertificate({ commonName: 'client', issuer: valid })
    assert.equal(judged({ leaf: cert, sent: [expired.cert, valid.cert] }), 'good')
    assert.match(judged({ leaf: cert, sent: [expired.cert] }), /^expired: CN=renewed/)
  })
})

describe('work', () => {
  test('is bounded: authorities of one name and many keys are not all tried', async () => {
    const named = { commonName: 'busy' }
    const decoys: TestAuthority[] = []
    for (let index = 0; index < signaturesMax; index++) decoys.push(await makeAuthority({ ...named, issuer: root }))
    const real = await makeAuthority({ ...named, issuer: root })
    const { cert } = await makeCertificate({ commonName: 'client', issuer: real })
    const sent = (count: number) => [...decoys.slice(0, count).map((each) => each.cert), real.cert]
    // The last two are for the client and for the authority itself.
    assert.equal(judged({ leaf: cert, sent: sent(signaturesMax - 2) }), 'good')
    assert.notEqual(judged({ leaf: cert, sent: sent(signaturesMax - 1) }), 'good')
  })

  test('ends where authorities have signed each other in a ring', async () => {
    const one = await makeAuthority({ commonName: 'one' })
    const two = await makeAuthority({ commonName: 'two', issuer: one })
    const oneAgain = await makeAuthority({ commonName: 'one', issuer: two, key: one })
    const twoAgain = await makeAuthority({ commonName: 'two', issuer: oneAgain, key: two })
    const { cert } = await makeCertificate({ commonName: 'client', issuer: one })
    assert.match(judged({ leaf: cert, sent: [two.cert, oneAgain.cert, twoAgain.cert] }), /^invalid/)
  })
})

const derNull = Uint8Array.from([5, 0])
/** Permits `.example` alone: SEQUENCE { [0] { SEQUENCE { [2] ".example" } } }. */
const nameConstraints = Uint8Array.from([0x30, 0x0e, 0xa0, 0x0c, 0x30, 0x0a, 0x82, 0x08, ...Buffer.from('.example')])

function purposesExtension(purpose: string): Extension {
  const arcs = purpose === anyPurpose ? [0x55, 0x1d, 0x25, 0] : [0x2b, 6, 1, 5, 5, 7, 3, Number(purpose.at(-1))]
  return new Extension('2.5.29.37', false, Uint8Array.from([0x30, arcs.length + 2, 6, arcs.length, ...arcs]))
}
