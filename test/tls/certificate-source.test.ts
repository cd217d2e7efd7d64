// Reading pairs from disk while they are being renewed.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readVersion } from '../../src/files/file-content.js'
import type { PairFiles, PairReading, ServedPair } from '../../src/tls/certificate-source.js'
import { readPair, retryDelayMs } from '../../src/tls/certificate-source.js'
import type { CertificateOptions, CertificatePair } from '../support/certificates.js'
import { makeAuthority, makeCertificate, writePair } from '../support/certificates.js'
import { mountSecret, swapData, whileSwapping } from './swapped-secret.js'

const root = mkdtempSync(join(tmpdir(), 'hostward-source-'))
after(() => rmSync(root, { recursive: true }))

function folder(): string {
  return mkdtempSync(join(root, 'case-'))
}

function made(): Promise<CertificatePair> {
  return makeCertificate({ names: ['site.example'] })
}

interface Accepted extends ServedPair {
  readonly fingerprint256: string
}

function read(files: PairFiles, served?: ServedPair): Promise<PairReading> {
  return readPair({ files, served, nowMs: Date.now() })
}

async function accepted(files: PairFiles, served?: ServedPair): Promise<Accepted> {
  const reading = await read(files, served)
  assert.ok(reading.kind === 'proved', reading.kind === 'pending' ? pendingText(reading) : reading.kind)
  const { notBeforeMs, notAfterMs, fingerprint256 } = reading.pair.facts
  return { ...reading.hashes, notBeforeMs, notAfterMs, hasIssuer: reading.pair.facts.chain.length > 1, fingerprint256 }
}

/** `mismatch key_mismatch`: the reason and the defects. */
function pendingText(reading: PairReading): string {
  assert.equal(reading.kind, 'pending')
  return `${reading.reason} ${reading.defects.map(({ code }) => code).join()}`
}

test('a pair is accepted, the same pair is unchanged, another one is accepted again', async () => {
  const directory = folder()
  const files = writePair(directory, 'site', await made())
  const first = await accepted(files)
  assert.equal((await read(files, first)).kind, 'unchanged')
  writePair(directory, 'site', await made())
  const second = await accepted(files, first)
  assert.notEqual(second.fingerprint256, first.fingerprint256)
})

test('what a reading gives are plain values, which can come from another thread', async () => {
  const files = writePair(folder(), 'site', await made())
  const readings = [await read(files), await read(files, await accepted(files)), await read({ ...files, key: 'none' })]
  assert.deepEqual(
    readings.map(({ kind }) => kind),
    ['proved', 'unchanged', 'pending'],
  )
  for (const reading of readings) assert.deepEqual(structuredClone(reading), reading)
})

test('a pair that is written anew with the same content is unchanged, and its version is the new one', async () => {
  const directory = folder()
  const pair = await made()
  const files = writePair(directory, 'site', pair)
  const first = await accepted(files)
  rmSync(files.cert)
  writePair(directory, 'site', pair)
  const reading = await read(files, first)
  assert.ok(reading.kind === 'unchanged')
  assert.deepEqual([...reading.versions.keys()], [files.cert, files.key])
  assert.equal(reading.versions.get(files.cert)?.hash, (await readVersion(files.cert)).hash)
})

test('without a pair that serves, each fault is told with the file it is in', async () => {
  const directory = folder()
  const pair = await made()
  const files = writePair(directory, 'site', pair)
  const afterChange = async (change: () => void): Promise<string> => {
    change()
    return pendingText(await read(files))
  }
  assert.equal(await afterChange(() => writeFileSync(files.key, '')), 'parse key_empty')
  assert.equal(await afterChange(() => rmSync(files.key)), 'missing key_missing')
  assert.equal(await afterChange(() => rmSync(files.cert)), 'missing cert_missing,key_missing')
  assert.equal(await afterChange(() => mkdirSync(files.cert)), 'missing cert_unreadable,key_missing')
  const weak = await makeCertificate({ keyType: 'rsa', rsaBits: 1024 })
  rmSync(files.cert, { recursive: true })
  assert.equal(await afterChange(() => writePair(directory, 'site', weak)), 'refused key_weak')
})

test('a key that may not be read is told as such', {
  skip: process.getuid?.() === 0 && 'root reads everything',
}, async () => {
  const files = writePair(folder(), 'site', await made())
  chmodSync(files.key, 0o000)
  assert.equal(pendingText(await read(files)), 'unreadable key_unreadable')
})

test('a renewal in two steps keeps the old pair in between, whichever half comes first, each time', async () => {
  const directory = folder()
  const files = writePair(directory, 'site', await made())
  let served = await accepted(files)
  for (const order of [
    ['cert', 'key'],
    ['key', 'cert'],
    ['cert', 'key'],
  ] as const) {
    const next = await made()
    writeFileSync(files[order[0]], order[0] === 'cert' ? next.chain : next.key)
    const reading = await read(files, served)
    assert.equal(pendingText(reading), 'mismatch key_mismatch')
    assert.ok(reading.kind === 'pending')
    const isCertNew = order[0] === 'cert'
    assert.match(reading.defects[0]?.message ?? '', isCertNew ? /the key has not$/ : /the certificate has not$/)
    writeFileSync(files[order[1]], order[1] === 'cert' ? next.chain : next.key)
    served = await accepted(files, served)
  }
})

test('a file that is truncated, gone or cut off while it is renewed keeps the old pair', async () => {
  const pair = await made()
  const files = writePair(folder(), 'site', pair)
  const served = await accepted(files)
  const afterChange = async (change: () => void): Promise<string> => {
    change()
    return pendingText(await read(files, served))
  }
  assert.equal(await afterChange(() => writeFileSync(files.cert, '')), 'parse cert_empty')
  assert.equal(await afterChange(() => writeFileSync(files.cert, pair.cert.slice(0, 99))), 'parse cert_truncated')
  assert.equal(await afterChange(() => rmSync(files.cert)), 'missing cert_missing')
  writeFileSync(files.cert, pair.chain)
  assert.equal((await read(files, served)).kind, 'unchanged')
})

const dayMs = 86_400_000

function lasting(fromDays: number, toDays: number): Promise<CertificatePair> {
  const [notBefore, notAfter] = [fromDays, toDays].map((days) => new Date(Date.now() + days * dayMs))
  return makeCertificate({ names: ['site.example'], notBefore, notAfter } as CertificateOptions)
}

test('a pair that is not valid yet, or not any more, does not replace one that is; it waits', async () => {
  const directory = folder()
  const files = writePair(directory, 'site', await made())
  const served = await accepted(files)
  writePair(directory, 'site', await lasting(1, 90))
  const early = await read(files, served)
  assert.equal(pendingText(early), 'dates not_yet_valid')
  assert.ok(early.kind === 'pending' && early.onDisk !== undefined && early.onDisk.notBeforeMs > Date.now())
  const inTime = await readPair({ files, served, nowMs: early.onDisk.notBeforeMs })
  assert.equal(inTime.kind, 'proved')
  writePair(directory, 'site', await lasting(-90, -1))
  assert.equal(pendingText(await read(files, served)), 'dates expired')
})

test('a pair out of its time serves where there is none, and where the other is out of its time too', async () => {
  const directory = folder()
  const files = writePair(directory, 'site', await lasting(-90, -1))
  const served = await accepted(files)
  writePair(directory, 'site', await lasting(1, 90))
  await accepted(files, served)
})

test('what cannot be used is told with the certificate that the file holds, where it can be read', async () => {
  const directory = folder()
  const files = writePair(directory, 'site', await made())
  const served = await accepted(files)
  writeFileSync(files.key, '')
  const reading = await read(files, served)
  assert.equal(reading.kind === 'pending' && reading.onDisk?.fingerprint256, served.fingerprint256)
  writeFileSync(files.cert, '')
  const other = await read(files, served)
  assert.equal(other.kind === 'pending' && other.onDisk, undefined)
})

/** certbot: live/site/*.pem are links to ../../archive/site/*N.pem, changed one by one. */
function writeGeneration(directory: string, number: number, pair: CertificatePair): void {
  writeFileSync(join(directory, 'archive', `fullchain${number}.pem`), pair.chain)
  writeFileSync(join(directory, 'archive', `privkey${number}.pem`), pair.key)
}

function link(directory: string, name: string, number: number): void {
  const path = join(directory, 'live', `${name}.pem`)
  rmSync(path, { force: true })
  symlinkSync(`../archive/${name}${number}.pem`, path)
}

test('certbot: the key is taken from the generation of the certificate while links are being changed', async () => {
  const directory = folder()
  mkdirSync(join(directory, 'live'))
  mkdirSync(join(directory, 'archive'))
  const files = { cert: join(directory, 'live', 'fullchain.pem'), key: join(directory, 'live', 'privkey.pem') }
  writeGeneration(directory, 9, await made())
  link(directory, 'fullchain', 9)
  link(directory, 'privkey', 9)
  let served = await accepted(files)
  for (const number of [10, 11]) {
    writeGeneration(directory, number, await made())
    link(directory, 'privkey', number)
    const reading = await read(files, served)
    assert.equal(reading.kind, 'unchanged', 'the new key is there, the certificate is not')
    assert.equal(reading.versions.get(files.key)?.hash, (await readVersion(files.key)).hash, 'so no watch reports it')
    unlinkSync(files.cert)
    assert.equal(pendingText(await read(files, served)), 'missing cert_missing')
    link(directory, 'fullchain', number)
    served = await accepted(files, served)
  }
})

test('a key named like another generation is read where the configuration says, not where a number does', async () => {
  const directory = folder()
  const [pair, other] = [await made(), await made()]
  const files = { cert: join(directory, 'cert2026.pem'), key: join(directory, 'key2025.pem') }
  writeFileSync(files.cert, pair.chain)
  writeFileSync(files.key, pair.key)
  writeFileSync(join(directory, 'key2026.pem'), other.key)
  await accepted(files)
})

test('Kubernetes: a swap of ..data is seen whole, each time', async () => {
  const directory = folder()
  swapData(directory, '..0', await made())
  const files = mountSecret(directory)
  let served = await accepted(files)
  for (const number of [1, 2, 3]) {
    swapData(directory, `..${number}`, await made())
    rmSync(join(directory, `..${number - 1}`), { recursive: true })
    served = await accepted(files, served)
  }
})

test('Kubernetes: a reader that races with swaps never sees a mixed pair', async () => {
  const directory = folder()
  const pairs = [await made(), await made()]
  swapData(directory, '..0', pairs[0] as CertificatePair)
  const files = mountSecret(directory)
  const readings: PairReading[] = []
  await whileSwapping({ directory, pairs, everyMs: 2, kept: 2 }, async (swaps) => {
    while (readings.length < 200 || swaps() === 0) readings.push(await read(files))
  })
  const mixed = readings.filter((reading) => reading.kind === 'pending' && reading.reason === 'mismatch')
  assert.deepEqual(mixed, [])
  assert.ok(readings.some(({ kind }) => kind === 'proved'))
})

test('a pending pair is tried again soon, then less often, then with the poll', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 99].map((attempt) => retryDelayMs(attempt, 2_000)),
    [50, 200, 1_000, 2_000, 2_000],
  )
})

// rsync --inplace writes over a file from its start: what is read meanwhile has the private half of one key and the public
// half of another, which OpenSSL takes for the key of whatever certificate has that public half.
test('a key whose halves are of two keys does not replace one that serves, however well it seems to fit', async () => {
  const [old, next] = [await made(), await made()]
  const files = writePair(folder(), 'site', old)
  const served = await accepted(files)
  const privateEnd = '-----BEGIN PRIVATE KEY-----\n'.length + 92
  writeFileSync(files.key, next.key.slice(0, privateEnd) + old.key.slice(privateEnd))
  assert.equal(pendingText(await read(files, served)), 'parse key_invalid')
  writeFileSync(files.key, old.key)
  assert.equal((await read(files, served)).kind, 'unchanged')
})

test('a key of each type signs for its certificate, and replaces the one that serves', async () => {
  const directory = folder()
  const served = await accepted(writePair(directory, 'site', await made()))
  for (const keyType of ['rsa', 'ec', 'ed25519'] as const) {
    const files = writePair(directory, 'site', await makeCertificate({ names: ['site.example'], keyType }))
    await accepted(files, served)
  }
})

test('a certificate without its issuer waits where the one that serves has it, and serves where that has none', async () => {
  const issuer = await makeAuthority({ commonName: 'issuing', issuer: await makeAuthority({ commonName: 'root' }) })
  const directory = folder()
  const files = writePair(directory, 'site', await makeCertificate({ issuer }))
  const served = await accepted(files)
  const next = await makeCertificate({ issuer })
  writePair(directory, 'site', { ...next, chain: next.cert })
  assert.equal(pendingText(await read(files, served)), 'incomplete chain_incomplete')
  await accepted(files, { ...served, hasIssuer: false })
  writePair(directory, 'site', next)
  await accepted(files, served)
})
