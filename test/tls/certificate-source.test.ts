// Reading pairs from disk while they are being renewed.
import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readVersion } from '../../src/files/file-content.js'
import type { LoadedPair, PairFiles, PairReading } from '../../src/tls/certificate-source.js'
import { readPair, retryDelayMs } from '../../src/tls/certificate-source.js'
import type { CertificatePair } from '../support/certificates.js'
import { makeCertificate, writePair } from '../support/certificates.js'

const root = mkdtempSync(join(tmpdir(), 'hostward-source-'))
after(() => rmSync(root, { recursive: true }))

function folder(): string {
  return mkdtempSync(join(root, 'case-'))
}

function made(): Promise<CertificatePair> {
  return makeCertificate({ names: ['site.example'] })
}

async function accepted(files: PairFiles, served?: LoadedPair): Promise<LoadedPair> {
  const reading = await readPair(files, served)
  assert.equal(
    reading.kind,
    'accepted',
    JSON.stringify(reading, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
  )
  return reading.pair
}

/** `mismatch key_mismatch served`: the reason, the defects, and whether the old pair goes on serving. */
function pendingText(reading: PairReading): string {
  assert.equal(reading.kind, 'pending')
  const codes = reading.defects.map(({ code }) => code).join()
  return `${reading.reason} ${codes} ${reading.served === undefined ? 'closed' : 'served'}`
}

test('a pair is accepted, the same pair is unchanged, another one is accepted again', async () => {
  const directory = folder()
  const files = writePair(directory, 'site', await made())
  const first = await accepted(files)
  const again = await readPair(files, first)
  assert.ok(again.kind === 'unchanged' && again.pair.certificate === first.certificate)
  writePair(directory, 'site', await made())
  const second = await accepted(files, first)
  assert.notEqual(second.certificate.fingerprint256, first.certificate.fingerprint256)
})

test('a pair that is written anew with the same content is unchanged, and its version is the new one', async () => {
  const directory = folder()
  const pair = await made()
  const files = writePair(directory, 'site', pair)
  const first = await accepted(files)
  rmSync(files.cert)
  writePair(directory, 'site', pair)
  const reading = await readPair(files, first)
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
    return pendingText(await readPair(files))
  }
  assert.equal(await afterChange(() => writeFileSync(files.key, '')), 'parse key_empty closed')
  assert.equal(await afterChange(() => rmSync(files.key)), 'missing key_missing closed')
  assert.equal(await afterChange(() => rmSync(files.cert)), 'missing cert_missing,key_missing closed')
  assert.equal(await afterChange(() => mkdirSync(files.cert)), 'missing cert_unreadable,key_missing closed')
  const weak = await makeCertificate({ keyType: 'rsa', rsaBits: 1024 })
  rmSync(files.cert, { recursive: true })
  assert.equal(await afterChange(() => writePair(directory, 'site', weak)), 'refused key_weak closed')
})

test('a key that may not be read is told as such', {
  skip: process.getuid?.() === 0 && 'root reads everything',
}, async () => {
  const files = writePair(folder(), 'site', await made())
  chmodSync(files.key, 0o000)
  assert.equal(pendingText(await readPair(files)), 'unreadable key_unreadable closed')
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
    const reading = await readPair(files, served)
    assert.equal(pendingText(reading), 'mismatch key_mismatch served')
    assert.ok(reading.kind === 'pending' && reading.served === served)
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
    return pendingText(await readPair(files, served))
  }
  assert.equal(await afterChange(() => writeFileSync(files.cert, '')), 'parse cert_empty served')
  assert.equal(
    await afterChange(() => writeFileSync(files.cert, pair.cert.slice(0, 99))),
    'parse cert_truncated served',
  )
  assert.equal(await afterChange(() => rmSync(files.cert)), 'missing cert_missing served')
  writeFileSync(files.cert, pair.chain)
  assert.equal((await readPair(files, served)).kind, 'unchanged')
})

test('the first certificate waits for its first handshake, one that replaces another is proved to serve', async () => {
  const directory = folder()
  const files = writePair(directory, 'site', await made())
  const served = await accepted(files)
  writePair(directory, 'site', await made())
  const next = await accepted(files, served)
  assert.equal(next.certificate.contextDefect, undefined)
  assert.ok(next.certificate.secureContext() !== undefined)
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
    const reading = await readPair(files, served)
    assert.equal(reading.kind, 'unchanged', 'the new key is there, the certificate is not')
    assert.equal(reading.versions.get(files.key)?.hash, (await readVersion(files.key)).hash, 'so no watch reports it')
    unlinkSync(files.cert)
    assert.equal(pendingText(await readPair(files, served)), 'missing cert_missing served')
    link(directory, 'fullchain', number)
    served = await accepted(files, served)
  }
})

function swapData(directory: string, name: string, pair: CertificatePair): void {
  mkdirSync(join(directory, name))
  writeFileSync(join(directory, name, 'tls.crt'), pair.chain)
  writeFileSync(join(directory, name, 'tls.key'), pair.key)
  symlinkSync(name, join(directory, '..data_tmp'))
  renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
}

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
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, join(directory, name))
  const files = { cert: join(directory, 'tls.crt'), key: join(directory, 'tls.key') }
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
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, join(directory, name))
  const files = { cert: join(directory, 'tls.crt'), key: join(directory, 'tls.key') }
  let number = 0
  const writer = setInterval(() => {
    number += 1
    swapData(directory, `..${number}`, pairs[number % 2] as CertificatePair)
    // One swap late, so that a reader that mixes generations finds both halves of its wrong pair.
    rmSync(join(directory, `..${number - 2}`), { recursive: true, force: true })
  }, 2)
  const readings: PairReading[] = []
  while (readings.length < 200) readings.push(await readPair(files))
  clearInterval(writer)
  const mixed = readings.filter((reading) => reading.kind === 'pending' && reading.reason === 'mismatch')
  assert.deepEqual(mixed, [])
  assert.ok(readings.some(({ kind }) => kind === 'accepted'))
  assert.ok(number > 0 && readFileSync(files.cert, 'utf8') !== '')
})

test('a pending pair is tried again soon, then less often, then with the poll', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 99].map((attempt) => retryDelayMs(attempt, 2_000)),
    [50, 200, 1_000, 2_000, 2_000],
  )
})
