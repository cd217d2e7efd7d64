// How long a half renewal is waited for, told by a clock that the test moves: a slow rsync leaves half a minute between its files.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CertificateShelf, isOverdue } from '../../src/server/certificate-shelf.js'
import { type CertificatePair, makeAuthority, makeCertificate, writePair } from '../support/certificates.js'

const root = mkdtempSync(join(tmpdir(), 'hostward-shelf-'))
after(() => rmSync(root, { recursive: true }))

const times = { pollMs: 2_000, renewalGraceMs: 30_000 }

/** One pair on a shelf, and a clock. */
async function shelved(pair: CertificatePair) {
  const startMs = Date.now()
  let nowMs = startMs
  const shelf = new CertificateShelf(() => nowMs)
  const files = {
    ...writePair(mkdtempSync(join(root, 'pair-')), 'site', pair),
    place: { file: 'x', line: 1, column: 1 },
  }
  const read = async () => {
    await shelf.refresh([files], { changed: 'all' })
    const found = shelf.get(files)
    assert.ok(found)
    return found
  }
  await read()
  return { shelf, files, read, wait: (ms: number) => (nowMs = startMs + ms) }
}

test('a pair whose second half has not come is overdue after 30 s and not before, and is looked at then', async () => {
  const { shelf, files, read, wait } = await shelved(await makeCertificate())
  writeFileSync(files.key, (await makeCertificate()).key)
  assert.equal((await read()).pending?.reason, 'mismatch')
  assert.equal(shelf.retryDelayMs(times), 50)
  wait(29_000)
  assert.equal(await shelf.hasNews(times), false)
  assert.equal(isOverdue((await read()).pending, times.renewalGraceMs), false)
  assert.equal(shelf.retryDelayMs({ ...times, pollMs: 3_600_000 }), 200, 'still at its second try')
  for (let tries = 0; tries < 2; tries++) assert.equal(await shelf.hasNews(times), false)
  assert.equal(shelf.retryDelayMs({ ...times, pollMs: 3_600_000 }), 1_000, 'not an hour later')
  wait(29_999)
  assert.equal(await shelf.hasNews(times), false)
  wait(30_000)
  assert.equal(await shelf.hasNews(times), true)
  const { pending, certificate } = await read()
  assert.equal(isOverdue(pending, times.renewalGraceMs), true)
  assert.match(pending?.defects[0]?.message ?? '', /the key has changed, the certificate has not$/)
  assert.ok(certificate, 'the old one serves on')
})

test('a whole pair that will not do is told of at once', async () => {
  const { files, read } = await shelved(await makeCertificate())
  const weak = await makeCertificate({ keyType: 'rsa', rsaBits: 1024 })
  writeFileSync(files.cert, weak.chain)
  writeFileSync(files.key, weak.key)
  assert.equal(isOverdue((await read()).pending, times.renewalGraceMs), true)
})

test('a certificate whose chain does not come serves without it after 30 s, since that may be meant', async () => {
  const issuer = await makeAuthority({ commonName: 'issuing', issuer: await makeAuthority({ commonName: 'root' }) })
  const { shelf, files, read, wait } = await shelved(await makeCertificate({ issuer }))
  const next = await makeCertificate({ issuer })
  writeFileSync(files.key, next.key)
  writeFileSync(files.cert, next.cert)
  const { pending, certificate } = await read()
  assert.equal(pending?.reason, 'incomplete')
  wait(29_999)
  assert.equal(await shelf.hasNews(times), false)
  assert.equal((await read()).certificate, certificate)
  wait(30_000)
  assert.equal(await shelf.hasNews(times), true)
  const taken = await read()
  assert.notEqual(taken.certificate, certificate)
  assert.equal(taken.pending, undefined)
  assert.ok(taken.warnings.some(({ code }) => code === 'chain_incomplete'))
})

test('a shelf reads what is new, keeps what stays, and forgets what nobody wants', async () => {
  const shelf = new CertificateShelf()
  const place = { file: 'x', line: 1, column: 1 }
  const directory = mkdtempSync(join(root, 'many-'))
  const made = await Promise.all(['a', 'b', 'c'].map(async (name) => ({ name, pair: await makeCertificate() })))
  const [a, b, c] = made.map(({ name, pair }) => ({ ...writePair(directory, name, pair), place }))
  assert.ok(a && b && c)
  const settled: ReadonlySet<string> = new Set()
  await shelf.refresh([a, b], { changed: 'all' })
  const before = shelf.get(a)
  await shelf.refresh([b, c, { ...a }], { changed: settled })
  assert.equal(shelf.get(a)?.certificate, before?.certificate, 'the same pair at another place is not read again')
  assert.ok(shelf.get(c)?.certificate, 'what comes is read')
  shelf.retain([a, c])
  assert.equal(shelf.get(b), undefined)
  assert.equal(shelf.pairs().length, 2)
  await shelf.refresh([a, b, c], { changed: settled })
  assert.ok(shelf.get(b)?.certificate, 'what comes back is read again')
  const { accepted } = await shelf.refresh([a, b, c], { changed: new Set([c.key]) })
  assert.deepEqual(accepted, [], 'and what was named as changed and is not stays what it was')
})

test('of pairs that were foreseen, each that is wanted is on the shelf beside those that were not, and no other', async () => {
  const directory = mkdtempSync(join(root, 'many-'))
  const kinds = await Promise.all(
    ['one', 'two', 'three'].map((name) => makeCertificate({ names: [`${name}.example`] })),
  )
  const place = { file: 'x', line: 1, column: 1 }
  const pairs = Array.from({ length: 150 }, (_, index) => {
    return { ...writePair(directory, `${index}`, kinds[index % kinds.length] as CertificatePair), place }
  })
  const shelf = new CertificateShelf()
  for (const files of pairs.slice(0, 130)) shelf.foresee(files)
  const wanted = pairs.slice(10)
  const { accepted } = await shelf.refresh(wanted, { changed: new Set() })
  assert.equal(accepted.length, wanted.length)
  assert.equal(shelf.pairs().length, wanted.length)
  for (const [index, files] of pairs.entries()) {
    const names = shelf.get(files)?.certificate?.names
    assert.deepEqual(names, index < 10 ? undefined : [`${['one', 'two', 'three'][index % 3]}.example`], `pair ${index}`)
  }
  assert.deepEqual((await shelf.refresh(wanted, { changed: new Set() })).accepted, [], 'and is not read again')
})

test('a pair that has been foreseen is compared with the one that serves all the same', async () => {
  const issuer = await makeAuthority({ commonName: 'issuing', issuer: await makeAuthority({ commonName: 'root' }) })
  const { shelf, files, read } = await shelved(await makeCertificate({ issuer }))
  const next = await makeCertificate({ issuer })
  writeFileSync(files.key, next.key)
  writeFileSync(files.cert, next.cert)
  shelf.foresee(files)
  assert.equal((await read()).pending?.reason, 'incomplete')
})
