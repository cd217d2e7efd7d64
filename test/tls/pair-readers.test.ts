// Thousands of pairs are read in threads, with the same result as here.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type PairFiles, type PairReading, type ReadRequest, readPair } from '../../src/tls/certificate-source.js'
import { PairReadings } from '../../src/tls/pair-readers.js'
import { type CertificatePair, makeCertificate, writePair } from '../support/certificates.js'
import { mountSecret, swapData, whileSwapping } from './swapped-secret.js'

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'hostward-pairs-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

/** So many requests for the pairs in turn. */
function requestsFor(pairs: readonly PairFiles[], count: number): ReadRequest[] {
  const nowMs = Date.now()
  const turns = Array.from({ length: Math.ceil(count / pairs.length) }, () => pairs).flat()
  return turns.slice(0, count).map((files) => ({ files, served: undefined, nowMs }))
}

async function readPairs(requests: readonly ReadRequest[]): Promise<readonly PairReading[]> {
  const readings = new PairReadings()
  for (const [index, request] of requests.entries()) readings.ask(`${index}`, request)
  const byKey = await readings.all()
  assert.equal(byKey.size, requests.length)
  return requests.map((_, index) => byKey.get(`${index}`) as PairReading)
}

test('a hundred pairs give in threads what they give here, in the order in which they were asked for', async (t) => {
  const directory = folder(t)
  const good = writePair(directory, 'good', await makeCertificate({ names: ['site.example'] }))
  const other = writePair(directory, 'other', await makeCertificate({ names: ['other.example'] }))
  writeFileSync(join(directory, 'garbage.pem'), 'garbage')
  symlinkSync('other.pem', join(directory, 'linked.pem'))
  symlinkSync('nowhere', join(directory, 'dangling.pem'))
  const pairs = [
    good,
    { ...good, key: other.key },
    { ...good, cert: join(directory, 'garbage.pem') },
    { ...other, cert: join(directory, 'linked.pem') },
    { ...good, cert: join(directory, 'dangling.pem') },
    { ...good, key: join(directory, 'absent.key') },
    { ...good, key: directory },
    other,
  ]
  const requests = requestsFor(pairs, 100)
  const readings = await readPairs(requests)
  assert.equal(readings.length, requests.length)
  for (const [index, reading] of readings.entries()) {
    const { versions: _, ...expected } = await readPair(requests[index] as ReadRequest)
    const { versions: __, ...actual } = reading
    assert.deepEqual(actual, expected)
  }
})

test('Kubernetes: threads that race with swaps of ..data never see a mixed pair', async (t) => {
  const directory = folder(t)
  const pairs = [await makeCertificate(), await makeCertificate()]
  swapData(directory, '..0', pairs[0] as CertificatePair)
  const files = mountSecret(directory)
  const readings: PairReading[] = []
  await whileSwapping({ directory, pairs, everyMs: 1, kept: 5 }, async (swaps) => {
    while (readings.length < 2_000 || swaps() < 50) readings.push(...(await readPairs(requestsFor([files], 500))))
  })
  const mixed = readings.filter((reading) => reading.kind === 'pending' && reading.reason === 'mismatch')
  assert.deepEqual(mixed, [])
  assert.ok(readings.some(({ kind }) => kind === 'proved'))
})
